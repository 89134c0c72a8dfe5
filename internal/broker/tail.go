package broker

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	tailBytes     = 16 << 10
	lastLineRunes = 300
)

// tail keeps the end of what a broker writes, for error messages.
type tail struct {
	also      io.Writer      // gets everything; nil = nobody
	complaint *regexp.Regexp // recognises the line that says what is wrong; nil = the last one does

	mu  sync.Mutex
	buf []byte
}

// Write never fails: a broker must not be blocked or ended by what becomes of its messages.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		_, _ = t.also.Write(p)
	}
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(p), nil
}

// String returns the last lines, at most tailBytes.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-tailBytes):])
}

// lastLine returns the complaint or else the last line that says something, fit for an error message; "" if there is none.
func (t *tail) lastLine() string {
	lines := strings.Split(t.String(), "\n")
	if t.complaint != nil {
		if i := slices.IndexFunc(lines, t.complaint.MatchString); i >= 0 {
			lines = lines[:i+1]
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' '
		}, lines[i]))
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > lastLineRunes {
			line = string(r[:lastLineRunes]) + "…"
		}
		return line
	}
	return ""
}

// firstLine delivers the first line written to it and drops the rest.
type firstLine struct {
	line chan string // buffered
	buf  []byte
	done bool
}

func newFirstLine() *firstLine { return &firstLine{line: make(chan string, 1)} }

func (f *firstLine) Write(p []byte) (int, error) {
	if f.done {
		return len(p), nil
	}
	f.buf = append(f.buf, p...)
	if i := bytes.IndexByte(f.buf, '\n'); i >= 0 {
		f.line <- string(f.buf[:i])
		f.done, f.buf = true, nil
	}
	return len(p), nil
}
