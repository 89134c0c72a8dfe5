package broker

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// folder is a broker that is a folder of its own and not in PATH.
type folder struct {
	name    string // for people, and (in lower case) of its folder in the cache
	home    string // the environment variable that names its folder
	proof   string // a pattern for a file within the folder; the part for * is the version
	install string // how to get it
}

// find takes folder, or the one that the environment names, or the newest in the cache.
func (f folder) find(path string) Finding {
	how := "given: "
	if path == "" {
		path, how = os.Getenv(f.home), "by $"+f.home+": "
	}
	if path == "" {
		path, how = f.newest(), "in the cache: "
	}
	if path == "" {
		why := fmt.Sprintf("%s is not installed: neither $%s nor the cache has it; %s", f.name, f.home, f.install)
		if tried, err := os.ReadFile(filepath.Join(Cache(), strings.ToLower(f.name)+".missing")); err == nil {
			why += " (tried, and failed: " + strings.TrimSpace(string(tried)) + ")"
		}
		return Finding{Why: why}
	}
	version := f.version(path)
	if version == "" {
		return Finding{Path: path, Why: fmt.Sprintf("%s is no %s: it has no %s", path, f.name, f.proof)}
	}
	return Finding{OK: true, Path: path, Version: version, Why: how + path}
}

func (f folder) newest() string {
	folders, _ := filepath.Glob(filepath.Join(Cache(), strings.ToLower(f.name)+"-*")) // the pattern is correct
	folders = slices.DeleteFunc(folders, func(path string) bool { return f.version(path) == "" })
	if len(folders) == 0 {
		return ""
	}
	return slices.MaxFunc(folders, func(a, b string) int { return compareVersions(f.version(a), f.version(b)) })
}

func (f folder) version(path string) string {
	files, _ := filepath.Glob(filepath.Join(path, f.proof))
	if len(files) == 0 {
		return ""
	}
	before, after, _ := strings.Cut(filepath.Base(f.proof), "*")
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
