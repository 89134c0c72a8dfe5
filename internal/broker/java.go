package broker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// javaExit is the exit code of a Java runtime that SIGTERM ended in order: 128 + 15.
const javaExit = 143

// javaComplaint is the line above a stack trace, or one that is logged.
var javaComplaint = regexp.MustCompile(`^(ERROR|Error:|Exception in|[a-z]\S*(Exception|Error):)`)

// javaProgram is a broker in Java, which is a folder of its own and not in PATH.
type javaProgram struct {
	name    string // for people, and (in lower case) of its folder in the cache
	home    string // the environment variable that names its folder
	proof   string // a pattern for a file within the folder; the part for * is the version
	install string // how to get it
}

// find takes folder, or the one that the environment names, or the newest in the cache.
func (j javaProgram) find(folder string) Finding {
	how := "given: "
	if folder == "" {
		folder, how = os.Getenv(j.home), "by $"+j.home+": "
	}
	if folder == "" {
		folder, how = j.newest(), "in the cache: "
	}
	if folder == "" {
		why := fmt.Sprintf("%s is not installed: neither $%s nor the cache has it; %s", j.name, j.home, j.install)
		if tried, err := os.ReadFile(filepath.Join(Cache(), strings.ToLower(j.name)+".missing")); err == nil {
			why += " (tried, and failed: " + strings.TrimSpace(string(tried)) + ")"
		}
		return Finding{Why: why}
	}
	version := j.version(folder)
	if version == "" {
		return Finding{Path: folder, Why: fmt.Sprintf("%s is no %s: it has no %s", folder, j.name, j.proof)}
	}
	if _, err := java(); err != nil {
		return Finding{Path: folder, Version: version, Why: fmt.Sprintf("%s needs Java: %v; on Debian and Ubuntu: apt-get install default-jre-headless", j.name, err)}
	}
	return Finding{OK: true, Path: folder, Version: version, Why: how + folder}
}

func (j javaProgram) newest() string {
	folders, _ := filepath.Glob(filepath.Join(Cache(), strings.ToLower(j.name)+"-*")) // the pattern is correct
	folders = slices.DeleteFunc(folders, func(f string) bool { return j.version(f) == "" })
	if len(folders) == 0 {
		return ""
	}
	return slices.MaxFunc(folders, func(a, b string) int { return compareVersions(j.version(a), j.version(b)) })
}

func (j javaProgram) version(folder string) string {
	files, _ := filepath.Glob(filepath.Join(folder, j.proof))
	if len(files) == 0 {
		return ""
	}
	before, after, _ := strings.Cut(filepath.Base(j.proof), "*")
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), before), after)
}

var numbers = regexp.MustCompile(`\d+`)

// compareVersions orders by the numbers in versions: 2.9 is before 2.40.
func compareVersions(a, b string) int {
	return slices.CompareFunc(numbers.FindAllString(a, -1), numbers.FindAllString(b, -1), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Compare(x, y)
	})
}

// Cache is the folder of brokers that no package manager installs, as scripts/brokers fills it: $MQLAB_CACHE, or
// ~/.cache/mqlab. Empty = there is no home folder.
func Cache() string {
	if dir := os.Getenv("MQLAB_CACHE"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "mqlab")
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
