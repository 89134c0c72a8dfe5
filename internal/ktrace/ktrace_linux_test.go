package ktrace

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// TestCat sees what a program does that reads a line and writes it: two calls for each line, one wake-up before the first of them.
func TestCat(t *testing.T) {
	cat := exec.CommandContext(t.Context(), "/bin/cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cat.Wait()
	}()
	answers := bufio.NewReader(out)
	line := func() {
		if _, err := io.WriteString(in, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	line() // it has started
	c, err := Count(cat.Process.Pid)
	if err != nil {
		t.Skip(err) // kernels without tracepoints, and users without the right to see them: nothing that is installed mends that
	}
	defer c.Close()
	w, err := Watch(cat.Process.Pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const lines = 100
	for range lines {
		line()
	}
	if n := c.Calls(); n < 2*lines-2 || n > 2*lines+2 {
		t.Errorf("%d calls for %d lines", n, lines)
	}
	events, lost := w.Events()
	woken, returned, last := 0, 0, int64(0)
	for _, e := range events {
		if e.At < last || e.Thread != cat.Process.Pid {
			t.Errorf("%+v after %d", e, last)
		}
		last = e.At
		if e.Kind == Woken {
			woken++
		} else {
			returned++
		}
	}
	if lost > 0 || returned < 2*lines-2 || returned > 2*lines+2 || woken == 0 || woken > 2*lines {
		t.Errorf("%d woken, %d returned, %d lost", woken, returned, lost)
	}
}
