package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

type script = testscript.TestScript

// commands are what scripts may use besides the commands of testscript.
var commands = map[string]func(ts *script, neg bool, args []string){
	"exits":    exits,
	"measures": measures,
	"value":    value,
	"columns":  columns,
	"absent":   absent,
	"expand":   expand,
	"latest":   latest,
	"agree":    agree,
	"sums":     sums,
	"recount":  recount,
	"unblamed": unblamed,

	"mosquitto": startMosquitto,
	"nats":      startNATS,
	"silent":    startSilent,
	"http":      startHTTP,
	"freeport":  freePort,
	"await":     awaitPort,
	"certs":     writeCertificates,
	"strict":    startStrict,
}

// usageOf stops the script unless a command is used as its usage says.
func usageOf(ts *script, usage string, ok, neg bool) {
	if !ok || neg {
		ts.Fatalf("usage: %s", usage)
	}
}

// exits runs a program and checks its exit code. A failure must be told in one line on stderr (or in as many as asked for), each
// with the program's name in front; success in none. A stack trace is never allowed.
func exits(ts *script, neg bool, args []string) {
	usageOf(ts, "exits CODE[/LINES] PROGRAM [ARG…]", len(args) >= 2, neg)
	code, count, many := strings.Cut(args[0], "/")
	want, err := strconv.Atoi(code)
	ts.Check(err)
	complaints := min(want, 1)
	if many {
		complaints, err = strconv.Atoi(count)
		ts.Check(err)
	}
	if got := runProgram(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	checkTalk(ts, complaints)
}

// tooBusy is how a report tells that this machine was too busy to measure on.
var tooBusy = regexp.MustCompile(`generator_(late|cpu)|host_noise|link_untrue`)

// measures runs mqlab, which must succeed. On a machine that is too busy to measure on, it may say instead that the generator
// was not fit, or that the link was late; what it counted is as exact then.
func measures(ts *script, neg bool, args []string) {
	usageOf(ts, "measures PROGRAM [ARG…]", len(args) >= 1, neg)
	switch got := runProgram(ts, args); got {
	case exitDone:
		checkTalk(ts, 0)
	case exitInvalid:
		if !tooBusy.MatchString(ts.ReadFile("stdout")) {
			ts.Fatalf("not valid, but no word of the generator")
		}
		checkTalk(ts, 1)
		ts.Logf("this machine was too busy")
	default:
		ts.Fatalf("exit code %d", got)
	}
}

// runProgram runs a program and returns its exit code.
func runProgram(ts *script, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	}
	ts.Fatalf("%s: %v", args[0], err)
	return -1
}

// checkTalk looks at what the last program wrote to its two outputs.
func checkTalk(ts *script, complaints int) {
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	for _, trace := range []string{"goroutine ", "panic:", "runtime error"} {
		if strings.Contains(stdout+stderr, trace) {
			ts.Fatalf("a stack trace")
		}
	}
	got := 0
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "mqlab: ") {
			got++
		}
	}
	if got != complaints {
		ts.Fatalf("%d complaints on stderr, want %d", got, complaints)
	}
}

// value checks one value of a JSON file: PATH has names and indexes with dots between; WANT is what it must be, or LOW..HIGH of
// numbers and durations; "absent" is a member that must not be there.
func value(ts *script, neg bool, args []string) {
	usageOf(ts, "value FILE PATH WANT", len(args) == 3, neg)
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	got, ok := walk(doc, args[1])
	switch want := args[2]; {
	case want == "absent" && !ok:
		return
	case !ok:
		ts.Fatalf("there is no %s", args[1])
	default:
		ts.Check(matches(args[1], got, want))
	}
}

// walk follows a dotted path.
func walk(doc any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[name]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

func matches(path string, got any, want string) error {
	low, high, interval := strings.Cut(want, "..")
	number, isNumber := got.(float64)
	if !interval || !isNumber {
		text := fmt.Sprint(got)
		if isNumber {
			text = strconv.FormatFloat(number, 'f', -1, 64)
		}
		if text != want {
			return fmt.Errorf("%s is %s, want %s", path, text, want)
		}
		return nil
	}
	from, err := quantity(low)
	if err != nil {
		return err
	}
	to, err := quantity(high)
	if err != nil {
		return err
	}
	if number < from || number > to {
		return fmt.Errorf("%s is %v, want %s", path, number, want)
	}
	return nil
}

// quantity reads a number, or a duration as nanoseconds.
func quantity(text string) (float64, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d), nil
	}
	return strconv.ParseFloat(text, 64)
}

// columns checks that no line of a file is wider than a terminal; commands to be typed are not broken.
func columns(ts *script, neg bool, args []string) {
	usageOf(ts, "columns FILE", len(args) == 1, neg)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > defaultWidth && !strings.HasPrefix(line, "  mqlab ") {
			ts.Fatalf("%d columns: %s", n, line)
		}
	}
}

// absent checks that a word is in no file (nor in any file's name) of a folder, and in nothing that was printed last.
func absent(ts *script, neg bool, args []string) {
	usageOf(ts, "absent WORD FOLDER", len(args) == 2, neg)
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(path+"\n"+string(b), args[0]) {
			err = fmt.Errorf("%s holds %q", path, args[0])
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("%s holds no file", args[1])
	}
	if strings.Contains(ts.ReadFile("stdout")+ts.ReadFile("stderr"), args[0]) {
		ts.Fatalf("%q was printed", args[0])
	}
}

// expand replaces the variables in files.
func expand(ts *script, neg bool, args []string) {
	usageOf(ts, "expand FILE…", len(args) > 0, neg)
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// latest puts the only run folder within a folder into a variable.
func latest(ts *script, neg bool, args []string) {
	usageOf(ts, "latest VARIABLE [FOLDER]", len(args) == 1 || len(args) == 2, neg)
	root := slices.Concat(args[1:], []string{runsDir})[0]
	found, err := filepath.Glob(filepath.Join(ts.MkAbs(root), "*", "run.json"))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%d runs in %s", len(found), root)
	}
	ts.Setenv(args[0], filepath.Dir(found[0]))
}
