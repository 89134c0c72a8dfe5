package broker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// javaExit is the exit code of a Java runtime that SIGTERM ended in order: 128 + 15.
const javaExit = 143

// javaComplaint is the line above a stack trace, or one that is logged.
var javaComplaint = regexp.MustCompile(`^(ERROR|Error:|Exception in|[a-z]\S*(Exception|Error):)`)

// javaProgram is a broker in Java.
type javaProgram struct{ folder }

// find takes folder, or the one that the environment names, or the newest in the cache.
func (j javaProgram) find(folder string) Finding {
	f := j.folder.find(folder)
	if !f.OK {
		return f
	}
	if _, err := java(); err != nil {
		f.OK = false
		f.Why = fmt.Sprintf("%s needs Java: %v; on Debian and Ubuntu: apt-get install default-jre-headless", j.name, err)
	}
	return f
}

// java finds the Java runtime: that of $JAVA_HOME, or the first in PATH.
func java() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	path, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("java is not in PATH")
	}
	return path, nil
}

// run makes the program for a Java class of arguments: options are those of the runtime, which are reported. Where the
// machine is limited its heap is set accordingly, else heap is (none = the runtime's default, a quarter of the memory).
func (s *site) run(heap, options []string, class ...string) (*program, error) {
	path, err := java()
	if err != nil {
		return nil, err
	}
	p := &program{path: path, exits: []int{javaExit}, complaint: javaComplaint}
	limited, config := s.heapFlags()
	if len(limited) > 0 {
		heap = limited
	}
	options = append(slices.Clone(heap), options...)
	p.args = slices.Concat(options, []string{"-Djava.io.tmpdir=" + s.dir}, class)
	p.config = append(config, Setting{"java options", strings.Join(options, " "), asWritten})
	if s.variant == Tuned {
		p.started = raiseOpenFiles
	}
	return p, nil
}
