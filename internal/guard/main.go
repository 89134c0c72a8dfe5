package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/cgroup"
)

const (
	readyLine = "ready\n"
	dirPrefix = "mqlab-"
	// settle is how long nothing of ours must be seen after the lab died before the guard believes it: a child may
	// still be between fork and exec, where it carries no marker yet.
	settle = 100 * time.Millisecond
	// limit bounds the sweeping: processes that the kernel will not end (or not by us) must not hold us for ever.
	limit = 5 * time.Second
)

// message is what the lab tells the guard, one JSON object per line.
type message struct {
	ID          string     `json:"id,omitempty"`
	Track       int        `json:"track,omitempty"`
	Started     uint64     `json:"started,omitempty"` // start time of Track in clock ticks after boot; 0 = not known
	Untrack     int        `json:"untrack,omitempty"`
	Dir         string     `json:"dir,omitempty"`
	Undir       string     `json:"undir,omitempty"`
	Group       string     `json:"group,omitempty"` // directory of a control group
	Ungroup     string     `json:"ungroup,omitempty"`
	Container   *Container `json:"container,omitempty"`
	Uncontainer *Container `json:"uncontainer,omitempty"`
	Closing     bool       `json:"closing,omitempty"` // an orderly end follows: nothing can still be starting
}

// registry is what is to be ended and removed. Both ends of the pipe keep one.
type registry struct {
	ID         string
	Roots      map[int]uint64 // start times; a process id alone may have been given to somebody else since
	Dirs       map[string]bool
	Groups     map[string]bool
	Containers map[Container]bool
	Closing    bool
}

func newRegistry() registry {
	return registry{
		Roots: make(map[int]uint64), Dirs: make(map[string]bool), Groups: make(map[string]bool), Containers: make(map[Container]bool),
	}
}

func (r *registry) apply(m message) {
	if m.ID != "" {
		r.ID = m.ID
	}
	if m.Track > 1 {
		r.Roots[m.Track] = m.Started
	}
	if m.Dir != "" {
		r.Dirs[m.Dir] = true
	}
	if m.Group != "" {
		r.Groups[m.Group] = true
	}
	delete(r.Roots, m.Untrack)
	delete(r.Dirs, m.Undir)
	delete(r.Groups, m.Ungroup)
	if m.Container != nil {
		r.Containers[*m.Container] = true
	}
	if m.Uncontainer != nil {
		delete(r.Containers, *m.Uncontainer)
	}
	r.Closing = r.Closing || m.Closing
}

// finish ends all processes of ours, then removes the containers, control groups and folders.
func (r *registry) finish(quiet time.Duration) error {
	if r.ID == "" {
		return nil // the lab ended before it could have started anything
	}
	err := sweep(Marker+"="+r.ID, r.Roots, r.Dirs, quiet)
	for c := range r.Containers {
		err = errors.Join(err, c.remove())
	}
	for dir := range r.Groups {
		err = errors.Join(err, cgroup.Remove(dir))
	}
	for dir := range r.Dirs {
		err = errors.Join(err, removeDir(dir))
	}
	return err
}

func removeDir(path string) error {
	parent := filepath.Dir(path)
	if parent != filepath.Clean(os.TempDir()) && parent != inMemory || !strings.HasPrefix(filepath.Base(path), dirPrefix) {
		return fmt.Errorf("%s is not a temporary folder of ours", path)
	}
	return os.RemoveAll(path)
}

// Main is the guard process: it reads from stdin what to guard until the lab closes the pipe or dies, then ends and
// removes it. Its result is the exit code; what it could not do it says on stdout.
func Main(stdin io.Reader) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	rename()
	fmt.Print(readyLine)
	held := newRegistry()
	for d := json.NewDecoder(stdin); ; {
		var m message
		if d.Decode(&m) != nil {
			break
		}
		held.apply(m)
	}
	quiet := settle
	if held.Closing {
		quiet = 0
	}
	if err := held.finish(quiet); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}
