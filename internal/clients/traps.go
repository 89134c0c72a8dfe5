package clients

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Trap is what programs with a library often do wrong, with where that is documented.
type Trap struct {
	Text    string `json:"text"`
	Chinese string `json:"text_zh"`
	Source  string `json:"source"`
}

//go:embed texts/traps.txt
var trapLines string

// traps are those of all clients, by name. A line of the text is: names | English | Chinese | source.
var traps = sync.OnceValue(func() map[string][]Trap {
	all := map[string][]Trap{}
	for line := range strings.Lines(trapLines) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		for name := range strings.SplitSeq(f[0], ", ") {
			all[name] = append(all[name], Trap{Text: f[1], Chinese: f[2], Source: f[3]})
		}
	}
	return all
})

// Traps are the traps of a client's library that are known.
func Traps(client string) []Trap { return slices.Clone(traps()[client]) }
