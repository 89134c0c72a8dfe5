// Package scenarios holds the built-in scenarios: YAML files, part of the program.
package scenarios

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// names are the built-in scenarios, those that most people ask first. Every file next to this one is named here.
var names = []string{
	"quick", "latency", "capacity", "scale", "weak-network", "outage", "idle", "persistence", "stall",
	"fanout", "shared", "storm", "offline", "herd", "keepalive", "multi-instance",
}

// Default is the scenario that answers "which broker is faster here?" without any file.
const Default = "quick"

// Names are the built-in scenarios, those that most people ask first.
func Names() []string { return append([]string(nil), names...) }

// Read returns the YAML text of a built-in scenario.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no built-in scenario %q; there are %s", name, strings.Join(names, ", "))
	}
	return data, nil
}
