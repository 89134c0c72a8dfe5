package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// v2 makes a folder that looks like a version 2 hierarchy: root hands on the controllers, the group in it does not.
func v2(t *testing.T, handedOn string) Hierarchy {
	t.Helper()
	top := t.TempDir()
	own := filepath.Join(top, "session")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(top, "cgroup.subtree_control"): handedOn,
		filepath.Join(top, "cgroup.type"):            "domain\n",
		filepath.Join(own, "cgroup.subtree_control"): "\n",
		filepath.Join(own, "cgroup.type"):            "domain\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Hierarchy{Version: 2, Controllers: []string{"cpu", "memory"}, Top: top, Dir: own}
}

func TestPlaceInVersion2(t *testing.T) {
	h := v2(t, "cpu memory pids\n")
	var announced []string
	g, err := place([]Hierarchy{{Version: 1, Controllers: []string{"cpu", "memory"}, Dir: t.TempDir()}, h}, "mqlab-x", func(dir string) { announced = append(announced, dir) })
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(h.Top, "mqlab-x")}; !slices.Equal(g.Dirs(), want) || !slices.Equal(announced, want) {
		t.Errorf("made %v, announced %v, want %v", g.Dirs(), announced, want)
	}
	if g.Version() != 2 {
		t.Errorf("version %d", g.Version())
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	nobody := func(string) {}
	for _, c := range []struct {
		name string
		all  []Hierarchy
		want string
	}{
		{"no control groups", nil, "this system has no control groups"},
		{"no memory", []Hierarchy{{Version: 1, Controllers: []string{"cpu"}, Dir: t.TempDir()}}, "no memory controller is mounted"},
		{"no cpu", []Hierarchy{{Version: 2, Controllers: []string{"hugetlb"}}}, "no cpu controller is mounted"},
		{"not handed on", []Hierarchy{v2(t, "pids\n")}, "hands the controllers cpu and memory on"},
	} {
		if _, err := place(c.all, "mqlab-x", nobody); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Make("x", Limits{CPUs: 0.001}, nobody); err == nil || !strings.Contains(err.Error(), "too few") {
		t.Errorf("%v", err)
	}
}

func TestFilesThatTheKernelLacks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "memory.limit_in_bytes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, memoryFiles(1, 1<<20)); err != nil {
		t.Errorf("optional files: %v", err)
	}
	if err := write(dir, cpuFiles(1, 1)); err == nil || !strings.Contains(err.Error(), "no cpu.cfs_period_us") {
		t.Errorf("%v", err)
	}
}

func TestRemoveTouchesOnlyOurs(t *testing.T) {
	dir := t.TempDir()
	if err := Remove(dir); err == nil || !strings.Contains(err.Error(), "is not a control group of ours") {
		t.Errorf("%v", err)
	}
	ours := filepath.Join(dir, "mqlab-x") // a folder, but no control group
	if err := os.Mkdir(ours, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Remove(ours); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ours); err != nil {
		t.Errorf("a folder that is no control group was removed: %v", err)
	}
	if err := Remove(filepath.Join(dir, "mqlab-gone")); err != nil {
		t.Error(err)
	}
}
