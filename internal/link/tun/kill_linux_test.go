package tun

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/link"
)

const labVerb = "lab"

// lab opens a network, starts a program at each end, says what could be left behind, and waits to be killed.
func lab() int {
	n, err := Open(context.Background(), link.Config{Profile: both(link.Params{Delay: time.Second})})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	g, err := guard.Start()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, at := range n.places {
		cmd := at.Command(context.Background(), "sleep", "3600")
		if err := g.Spawn(cmd); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("process", cmd.Process.Pid)
		fmt.Println("namespace", at.Space.Inode())
	}
	fmt.Println("process", n.carrier.cmd.Process.Pid)
	fmt.Println("up")
	select {}
}

// TestKilledLeavesNothing: kill -9 in the middle leaves no process, no namespace, and with it no device and no route; the host
// never had any of them.
func TestKilledLeavesNothing(t *testing.T) {
	open(t, both(link.Params{})) // or skip
	before := hostNetwork(t)
	cmd := exec.Command(os.Args[0], labVerb)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	var inodes []string
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		what, value, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "process":
			pid, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		case "namespace":
			inodes = append(inodes, "net:["+value+"]")
		default:
			t.Fatal(lines.Text())
		}
	}
	if len(pids) != 3 || len(inodes) != 2 || lines.Text() != "up" {
		t.Fatalf("processes %v in namespaces %v", pids, inodes)
	}
	if during := hostNetwork(t); during != before {
		t.Errorf("the network of the host changes:\n%s\nbefore:\n%s", during, before)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	deadline := time.Now().Add(20 * time.Second)
	for _, pid := range pids {
		for !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is left", pid)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	for held := holders(t, inodes); len(held) > 0; held = holders(t, inodes) {
		if time.Now().After(deadline) {
			t.Fatalf("namespaces are held by %v", held)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if after := hostNetwork(t); after != before {
		t.Errorf("the network of the host has changed:\n%s\nbefore:\n%s", after, before)
	}
}

// TestCarrierGone: without its carrier a network says so, and does not hang.
func TestCarrierGone(t *testing.T) {
	open(t, both(link.Params{})) // or skip
	n, err := Open(t.Context(), link.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.carrier.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-n.carrier.gone
	if up, down := n.Counters(); up != (link.Counters{}) || down != up || n.Facts().Backend != Name {
		t.Errorf("counters %+v and %+v", up, down)
	}
	for what, err := range map[string]error{"change": n.Change(link.Params{}, link.Params{}), "down": n.Down(true), "close": n.Close()} {
		if err == nil || !strings.Contains(err.Error(), "carrier of the link") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCarrierHangs: a carrier that does not answer is ended, which is said once and again, and nothing waits for it.
func TestCarrierHangs(t *testing.T) {
	open(t, both(link.Params{})) // or skip
	n, err := Open(t.Context(), link.Config{})
	if err != nil {
		t.Fatal(err)
	}
	n.carrier.limit = 50 * time.Millisecond
	if err := n.carrier.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Down(true); err == nil || err.Error() != "the carrier of the link has not answered for 50ms and was ended" {
			t.Error(err)
		}
	}
	<-n.carrier.gone
	if err := n.Close(); err == nil || !strings.Contains(err.Error(), "has not answered") {
		t.Errorf("close: %v", err)
	}
}

// hostNetwork tells the devices and routes of the host, and which namespaces have names.
func hostNetwork(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	devices, err := os.ReadDir("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		fmt.Fprintln(&all, d.Name())
	}
	routes, err := os.ReadFile("/proc/self/net/route")
	if err != nil {
		t.Fatal(err)
	}
	all.Write(routes)
	named, _ := os.ReadDir("/run/netns") // need not be there
	for _, n := range named {
		fmt.Fprintln(&all, n.Name())
	}
	return all.String()
}

// holders are the threads that live in one of the namespaces, and the descriptors by which one is held.
func holders(t *testing.T, inodes []string) (held []string) {
	t.Helper()
	for _, pattern := range []string{"/proc/[0-9]*/task/[0-9]*/ns/net", "/proc/[0-9]*/fd/[0-9]*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			target, err := os.Readlink(file)
			if err != nil {
				continue // gone meanwhile
			}
			for _, inode := range inodes {
				if target == inode {
					held = append(held, file)
				}
			}
		}
	}
	return held
}
