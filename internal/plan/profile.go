package plan

import "fmt"

// Profile is the machine that a broker is to run on: what it may use of this host at most. The zero value is the whole
// host.
type Profile struct {
	Name        string  `json:"name,omitempty"` // as written, shortest form
	CPUs        float64 `json:"cpus,omitempty"`
	MemoryBytes int64   `json:"memory_bytes,omitempty"` // main memory; no swap
	OpenFiles   int     `json:"open_files,omitempty"`   // of each process
	Off         bool    `json:"off,omitempty"`          // not enforced, as the user allowed: the broker had the whole host
}

// Limited reports whether the profile asks for less than the whole host.
func (p Profile) Limited() bool { return p.Name != "" }

// describe names the profile for the plan's text.
func (p Profile) describe() string {
	switch {
	case p.Off:
		return p.Name + ", not enforced (--no-limits)"
	case p.Limited():
		return fmt.Sprintf("%s for the broker (at most %s open files)", p.Name, grouped(int64(p.OpenFiles)))
	}
	return "this host"
}
