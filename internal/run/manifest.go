package run

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// Schema is the version of the folder's layout.
const Schema = 1

// Manifest is run.json: everything known before the first trial.
type Manifest struct {
	Schema   int       `json:"schema"` // set by Create
	ID       string    `json:"id"`     // see NewID
	Scenario string    `json:"scenario"`
	Source   string    `json:"source,omitempty"` // the scenario as written
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"`
	Command  []string  `json:"command"` // the command line that repeats this run
	Host     Host      `json:"host"`
	Plan     plan.Plan `json:"plan"`
}

// Host says what machine a run was made on. What could not be found out is absent.
type Host struct {
	Hostname          string `json:"hostname,omitempty"`
	Kernel            string `json:"kernel,omitempty"`
	OS                string `json:"os,omitempty"`
	Arch              string `json:"arch,omitempty"`
	CPUModel          string `json:"cpu_model,omitempty"`
	Cores             int    `json:"cores,omitempty"` // those this process may run on
	MemoryBytes       uint64 `json:"memory_bytes,omitempty"`
	ClockSource       string `json:"clock_source,omitempty"`
	CongestionControl string `json:"congestion_control,omitempty"`
	GoVersion         string `json:"go_version,omitempty"`
	GoMaxProcs        int    `json:"gomaxprocs,omitempty"`
	Version           string `json:"mqlab_version,omitempty"`
}

// NewID returns a random name for a run: six hexadecimal digits.
func NewID() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}

const folderTime = "20060102-150405"

// folderName is <time>-<scenario>-<id>, the time in UTC so that names sort by time.
func (m *Manifest) folderName() string {
	return m.Started.UTC().Format(folderTime) + "-" + fileName(m.Scenario) + "-" + fileName(m.ID)
}

// fileName keeps letters, digits, - and _ of s and turns the rest into -, up to 40 bytes.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, s)
	if s == "" {
		return "run"
	}
	return s[:min(len(s), 40)]
}
