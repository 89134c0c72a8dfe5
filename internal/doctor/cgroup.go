package doctor

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/cgroup"
)

// Cgroup is a hierarchy of control groups that this process is in.
type Cgroup struct {
	Version     int      `json:"version"`
	Controllers []string `json:"controllers,omitempty"`
	Dir         string   `json:"dir"`                // of the group that this process is in
	Writable    *bool    `json:"writable,omitempty"` // groups can be made below it
}

// mounted is a hierarchy as control groups are reported, and the way up in it.
type mounted struct {
	Cgroup
	upwards func(visit func(dir string))
}

// readCgroups finds the hierarchies that are mounted and this process's place in them.
func readCgroups(root fs.FS) (groups []mounted) {
	for _, h := range cgroup.Hierarchies(root) {
		groups = append(groups, mounted{Cgroup{Version: h.Version, Controllers: h.Controllers, Dir: h.Dir}, h.Upwards})
	}
	return groups
}

// inside is the name of a group's file in an fs.FS.
func inside(dir, file string) string { return strings.TrimPrefix(path.Join(dir, file), "/") }

// cpuQuota is the smallest quota on the way up, in cores; 0 = none.
func cpuQuota(root fs.FS, groups []mounted) (quota float64) {
	for i := range groups {
		groups[i].upwards(func(dir string) {
			limit, period := firstLine(root, inside(dir, "cpu.cfs_quota_us")), firstLine(root, inside(dir, "cpu.cfs_period_us"))
			if words := strings.Fields(firstLine(root, inside(dir, "cpu.max"))); len(words) == 2 {
				limit, period = words[0], words[1]
			}
			n, ok1 := number(limit) // "max" and -1 are no quota
			p, ok2 := number(period)
			if cores := float64(n) / float64(p); ok1 && ok2 && p > 0 && (quota == 0 || cores < quota) {
				quota = cores
			}
		})
	}
	return quota
}

// memoryLimit is the smallest limit on the way up, in bytes; 0 = none below what the host has.
func memoryLimit(root fs.FS, groups []mounted, total uint64) uint64 {
	limit := total
	for i := range groups {
		groups[i].upwards(func(dir string) {
			for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
				if n, ok := number(firstLine(root, inside(dir, file))); ok {
					limit = min(limit, n)
				}
			}
		})
	}
	if limit == total {
		return 0
	}
	return limit
}

// withController returns the controllers of all hierarchies of a version.
func withController(groups []Cgroup, version int) (names []string) {
	for _, g := range groups {
		if g.Version == version {
			names = append(names, g.Controllers...)
		}
	}
	slices.Sort(names)
	return names
}
