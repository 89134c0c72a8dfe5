package cgroup

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Own is the nearest group, from that of this process upwards, that has a CPU quota: who is in it may be stopped for the rest of a
// period. It was made by somebody else, a container engine for example. ok is false where there is none, or none can be seen.
func Own() (g *Group, ok bool) { return limited(os.DirFS("/"), "self") }

// Of is Own for another process.
func Of(pid int) (g *Group, ok bool) { return limited(os.DirFS("/"), strconv.Itoa(pid)) }

func limited(root fs.FS, process string) (g *Group, ok bool) {
	for _, h := range hierarchies(root, process) {
		if !controls(&h, "cpu") {
			continue
		}
		h.Upwards(func(dir string) {
			above := &Group{version: h.Version, cpu: dir}
			if cpus, err := above.quota(); g == nil && err == nil && cpus > 0 {
				g = above
			}
		})
	}
	return g, g != nil
}

// quota is the CPU quota of the group in cores; 0 = unlimited.
func (g *Group) quota() (float64, error) {
	name := "cpu.max"
	if g.version == 1 {
		name = "cpu.cfs_quota_us"
	}
	text, err := os.ReadFile(filepath.Join(g.cpu, name))
	if err != nil {
		return 0, err
	}
	if g.version == 1 {
		per, err := os.ReadFile(filepath.Join(g.cpu, "cpu.cfs_period_us"))
		if err != nil {
			return 0, err
		}
		text = append(append(text, ' '), per...)
	}
	return parseQuota(string(text))
}

// Throttling reads how often the group used up its quota so far: Periods, Throttled and ThrottledTime of Usage.
func (g *Group) Throttling() (u Usage, err error) {
	stat, err := os.ReadFile(filepath.Join(g.cpu, "cpu.stat"))
	if err != nil {
		return u, err
	}
	u.throttling(parseStat(string(stat)))
	return u, nil
}
