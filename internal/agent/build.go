package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/mqlab/mqlab/agents"
	"github.com/mqlab/mqlab/agents/golang"
)

// Built is an agent that can be started.
type Built struct {
	Agent
	Command []string
	Env     []string // besides the usual
	Place   Place
	// Exec makes the command of a program that lives elsewhere, with the contract of exec.CommandContext, which nil stands for.
	Exec func(ctx context.Context, name string, args ...string) *exec.Cmd
}

// Place is where an agent's threads run.
type Place struct {
	Core     int  // -1 = on any
	RealTime bool // SCHED_RR: before everything that is not, in turn among each other
}

// Anywhere is the place of an agent that the scheduler moves as it likes.
var Anywhere = Place{Core: -1}

// ErrMissing: a compiler, a library or an interpreter is not installed.
var ErrMissing = errors.New("missing")

// Build makes an agent ready: it compiles its source, or finds an interpreter that has its library. What was compiled is kept in a folder
// and taken again while source and compiler are the same. An error that is ErrMissing names the package to install, in one line.
func Build(ctx context.Context, a Agent, folder string) (*Built, error) {
	dir, err := unpack(folder)
	if err != nil {
		return nil, err
	}
	switch a.Language {
	case Go:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return &Built{Agent: a, Command: []string{self, golang.Verb, a.source}, Place: Anywhere}, nil
	case Python:
		return findPython(ctx, a, dir, folder)
	case Node:
		return findNode(ctx, a, dir, folder)
	}
	return compile(ctx, a, dir)
}

// unpack writes the sources of all agents below folder, into a place of their own for each content.
func unpack(folder string) (dir string, err error) {
	sum := sha256.New()
	files := map[string][]byte{}
	err = fs.WalkDir(agents.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := agents.Files.ReadFile(name)
		files[name] = b
		fmt.Fprintf(sum, "%s %d\n%s", name, len(b), b)
		return err
	})
	if err != nil {
		return "", err
	}
	dir = filepath.Join(folder, "agents-"+hex.EncodeToString(sum.Sum(nil))[:12])
	for name, b := range files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if old, err := os.ReadFile(target); err == nil && string(old) == string(b) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return "", err
		}
		if err := replace(target, b, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// replace writes a file at once, so that nobody sees half of it.
func replace(name string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// compile builds an agent in C or C++.
func compile(ctx context.Context, a Agent, dir string) (*Built, error) {
	compiler, flags := "cc", []string{"-O2", "-Wall", "-Wno-unused-function"}
	if a.Language == CPP {
		compiler, flags = "c++", append(flags, "-std=c++17")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return nil, fmt.Errorf("%w: there is no %s; install gcc or g++", ErrMissing, compiler)
	}
	binary := filepath.Join(dir, a.Name)
	built := &Built{Agent: a, Command: []string{binary}, Place: Anywhere}
	if _, err := os.Stat(binary); err == nil {
		return built, nil
	}
	temporary := fmt.Sprintf("%s.%d", binary, os.Getpid())
	defer func() { _ = os.Remove(temporary) }()
	args := append(flags, filepath.Join(dir, filepath.FromSlash(a.source)), "-o", temporary)
	args = append(append(args, a.links...), "-lpthread")
	out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, missing(a, string(out))
	}
	return built, os.Rename(temporary, binary)
}

// missing tells by a compiler's words whether a library is not installed.
func missing(a Agent, said string) error {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "No such file or directory") || strings.Contains(line, "cannot find -l") || strings.Contains(line, "file not found") {
			return fmt.Errorf("%w: %s is not installed: install %s", ErrMissing, a.Library, a.need)
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return fmt.Errorf("%s does not compile: %s", a.Name, first)
}

// findPython finds an interpreter that has the library in the version wanted.
func findPython(ctx context.Context, a Agent, dir, folder string) (*Built, error) {
	candidates := []string{filepath.Join(folder, "agents-python", "bin", "python3"), "/usr/bin/python3", "python3"}
	if own := os.Getenv("MQLAB_PYTHON"); own != "" {
		candidates = []string{own}
	}
	test := fmt.Sprintf("import %s as m; print(getattr(m, '__version__', ''))", a.imports)
	for _, python := range candidates {
		python, err := exec.LookPath(python)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, python, "-c", test).Output()
		if err != nil || !strings.HasPrefix(strings.TrimSpace(string(out)), a.version) {
			continue
		}
		return &Built{
			Agent: a, Command: []string{python, "-u", "-B", filepath.Join(dir, filepath.FromSlash(a.source))},
			Env: []string{"PYTHONPATH=" + filepath.Join(dir, "python")}, Place: Anywhere,
		}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w: no Python has %s: install %s", ErrMissing, a.Library, a.need)
}

// findNode finds Node and the library.
func findNode(ctx context.Context, a Agent, dir, folder string) (*Built, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no node: install nodejs", ErrMissing)
	}
	paths := "NODE_PATH=" + strings.Join([]string{filepath.Join(folder, "agents-node", "node_modules"), "/usr/share/nodejs", "/usr/lib/nodejs"}, string(os.PathListSeparator))
	test := exec.CommandContext(ctx, node, "-e", fmt.Sprintf("require(%q)", a.imports))
	test.Env = append(os.Environ(), paths)
	if err := test.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: node has no %s: install %s", ErrMissing, a.Library, a.need)
	}
	return &Built{Agent: a, Command: []string{node, filepath.Join(dir, filepath.FromSlash(path.Clean(a.source)))}, Env: []string{paths}, Place: Anywhere}, nil
}
