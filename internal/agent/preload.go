package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// allocators are the libraries that replace malloc, by name: their files, and the Debian package.
var allocators = map[string]struct{ file, need string }{
	"jemalloc": {"libjemalloc.so.2", "libjemalloc2"},
	"tcmalloc": {"libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
	"mimalloc": {"libmimalloc.so.2*", "libmimalloc2.0"},
}

// Allocators are the names that Allocator knows.
func Allocators() []string { return []string{"jemalloc", "tcmalloc", "mimalloc"} }

// libraryDirs are where Debian and others keep libraries.
var libraryDirs = []string{"/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"}

// Allocator finds a library that replaces malloc. ErrMissing = it is not installed, with the package to install.
func Allocator(name string) (path string, err error) {
	a, known := allocators[name]
	if !known {
		return "", fmt.Errorf("there is no allocator %q", name)
	}
	for _, dir := range libraryDirs {
		if found, err := filepath.Glob(filepath.Join(dir, a.file)); err == nil && len(found) > 0 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%w: %s is not installed: install %s", ErrMissing, name, a.need)
}

// Preloaded is the agent with a library before its program; env is what that needs besides.
func (b *Built) Preloaded(path string, env ...string) *Built {
	with := *b
	with.Env = append(slices.Clone(b.Env), append(env, "LD_PRELOAD="+path)...)
	return &with
}

// Counting is the agent with its allocations counted. Python then allocates everything by malloc, as otherwise it has an allocator of its
// own for what is small.
func Counting(ctx context.Context, b *Built, folder string) (*Built, error) {
	if !b.Options().Allocation {
		return nil, fmt.Errorf("%w: the allocations of %s cannot be counted", ErrMissing, b.Language)
	}
	dir, err := unpack(folder)
	if err != nil {
		return nil, err
	}
	library := filepath.Join(dir, "allocations.so")
	if _, err := os.Stat(library); err != nil {
		temporary := fmt.Sprintf("%s.%d", library, os.Getpid())
		defer func() { _ = os.Remove(temporary) }()
		out, err := exec.CommandContext(ctx, "cc", "-O2", "-shared", "-fPIC", filepath.Join(dir, "c", "allocations.c"), "-o", temporary, "-ldl").CombinedOutput()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the counter of allocations does not compile: %w: %s", err, out), context.Cause(ctx))
		}
		if err := os.Rename(temporary, library); err != nil {
			return nil, err
		}
	}
	return b.Preloaded(library, "PYTHONMALLOC=malloc"), nil
}
