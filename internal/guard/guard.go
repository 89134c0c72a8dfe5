// Package guard makes sure that nothing of ours outlives us.
//
// Start runs this program a second time (hidden verb "guard") as a small process in a session of its own that does
// nothing but read a pipe. However the lab ends, kill -9 included, the kernel closes the pipe, and the guard ends every
// process that was started through Spawn or named by Track, and removes every control group named by TrackGroup, with what
// is in it, every container named by TrackContainer, and every folder made by MkdirTemp.
//
// What belongs to us is found by several marks, because each alone has holes: the process group and session of a tracked
// process; descent from it; a marker variable in the environment, which grandchildren carry on even after they changed
// session, were re-parented or changed user; and, for what wrote over its environment, a tracked folder as its working
// folder, and a tracked control group. The parent-death signal of Linux is not used: it is tied to the
// thread that started the child, not to the process, is lost when the child changes user, and reaches no grandchild.
package guard

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/guard/proctree"
)

// Marker is the environment variable by which processes of ours are recognised.
const Marker = "MQLAB_GUARD"

// Verb is the first argument by which main knows that it shall be the guard: it then calls Main.
const Verb = "guard"

const (
	startLimit = 10 * time.Second // from exec to ready
	closeLimit = 15 * time.Second // above limit (sweeping) plus the removal of folders
)

// Guard is the lab's end of the pipe. It is safe for concurrent use.
type Guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	mu      sync.Mutex
	held    registry
	markers map[int]string // of the processes started by Spawn
	spawned int
	lost    error // the guard process is gone: it could not be told of something
	closed  bool
}

// Start starts the guard process and returns when it watches.
func Start() (*Guard, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	cmd := exec.Command(exe)
	// The name must not be that of the lab: "killall -9 mqlab" shall leave the guard to do its work.
	cmd.Args = []string{"lab-guard", Verb}
	cmd.Dir = os.TempDir()
	if info, err := os.Stat(cmd.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("there is no folder %s for temporary files: set TMPDIR to one that is there", cmd.Dir)
	}
	proctree.Detach(cmd)
	g := &Guard{cmd: cmd, held: newRegistry(), markers: make(map[int]string)}
	if g.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	g.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	late := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
	line, err := g.out.ReadString('\n')
	if !late.Stop() || err != nil || line != readyLine {
		_ = g.in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("guard: the guard process did not become ready (said %q)", strings.TrimSpace(line))
	}
	g.tell(message{ID: rand.Text()})
	return g, g.lost
}

// Env returns the marker variable for the environment of a child that is started without Spawn.
func (g *Guard) Env() []string { return []string{Marker + "=" + g.held.ID} }

// Spawn starts cmd in a session of its own, with the marker in its environment, and tracks it.
func (g *Guard) Spawn(cmd *exec.Cmd) error {
	g.mu.Lock()
	g.spawned++
	mark := fmt.Sprintf("%s=%s.%d", Marker, g.held.ID, g.spawned)
	g.mu.Unlock()
	proctree.Detach(cmd)
	cmd.Env = append(cmd.Environ(), mark)
	if err := cmd.Start(); err != nil {
		return err
	}
	g.mu.Lock()
	g.markers[cmd.Process.Pid] = mark
	g.mu.Unlock()
	g.Track(cmd.Process.Pid)
	return nil
}

// Track names a child, not yet waited for, whose process group, session and descendants are to be ended with us.
func (g *Guard) Track(pid int) { g.tell(message{Track: pid, Started: startOf(pid)}) }

// End kills at once what is left of the tree of a child given to Spawn or Track, also those of its descendants that
// left the session, and forgets it. It returns when none is left, or an error naming those that could not be ended.
func (g *Guard) End(pid int) error {
	g.mu.Lock()
	mark := g.markers[pid]
	started, tracked := g.held.Roots[pid]
	delete(g.markers, pid)
	g.mu.Unlock()
	if !tracked {
		return nil
	}
	err := sweep(mark, map[int]uint64{pid: started}, nil, 0)
	if err == nil {
		g.tell(message{Untrack: pid})
	}
	return err
}

// MkdirTemp makes a folder for this user alone under the system's folder for temporary files. It is removed by
// RemoveDir or with us.
func (g *Guard) MkdirTemp(name string) (string, error) { return g.mkdir(os.TempDir(), name) }

// inMemory is the folder of files in memory (tmpfs) that Linux has.
const inMemory = "/dev/shm"

// MkdirMemory is MkdirTemp for files that several processes map: where the system has a folder of files in memory it is made there,
// so that nothing is written to a disk.
func (g *Guard) MkdirMemory(name string) (string, error) {
	if s, err := os.Stat(inMemory); err == nil && s.IsDir() {
		return g.mkdir(inMemory, name)
	}
	return g.MkdirTemp(name)
}

func (g *Guard) mkdir(parent, name string) (string, error) {
	dir := filepath.Join(parent, dirPrefix+name+"-"+strings.ToLower(rand.Text()[:10]))
	g.TrackDir(dir) // before it exists, so that there is no moment at which it could be left behind
	if err := os.Mkdir(dir, 0o700); err != nil {
		g.tell(message{Undir: dir})
		return "", err
	}
	return dir, nil
}

// TrackDir names a folder to be removed with us. Only folders directly in the system's folder for temporary files
// or files in memory whose name starts with "mqlab-" are ever removed.
func (g *Guard) TrackDir(path string) { g.tell(message{Dir: path}) }

// RemoveDir removes a tracked folder now.
func (g *Guard) RemoveDir(path string) error {
	if err := removeDir(path); err != nil {
		return err
	}
	g.tell(message{Undir: path})
	return nil
}

// TrackGroup names the directory of a control group to be removed with us, together with the processes in it.
func (g *Guard) TrackGroup(dir string) { g.tell(message{Group: dir}) }

// RemoveGroup kills what is left in a tracked control group and removes it now.
func (g *Guard) RemoveGroup(dir string) error {
	if err := cgroup.Remove(dir); err != nil {
		return err
	}
	g.tell(message{Ungroup: dir})
	return nil
}

// Close ends whatever is left of ours, removes the tracked containers, control groups and folders, and returns when that is done. The error names what
// could not be ended or removed. Closing again does nothing.
func (g *Guard) Close() error {
	g.tell(message{Closing: true})
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	_ = g.in.Close()
	late := time.AfterFunc(closeLimit, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	said, _ := io.ReadAll(g.out)
	err := g.cmd.Wait()
	switch {
	case err == nil:
		return nil
	case len(said) > 0:
		return fmt.Errorf("guard: %s", strings.TrimSpace(string(said)))
	}
	// Somebody ended the guard: do its work here.
	return errors.Join(fmt.Errorf("guard: the guard process was gone: %w", err), g.held.finish(0))
}

// tell applies m here and sends it to the guard process. What has been written to the pipe is read by the guard even
// if we are killed in the next moment.
func (g *Guard) tell(m message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.held.apply(m)
	b, err := json.Marshal(m)
	if err == nil {
		_, err = g.in.Write(append(b, '\n'))
	}
	if err != nil && g.lost == nil {
		g.lost = fmt.Errorf("guard: the guard process is gone: %w", err)
	}
}
