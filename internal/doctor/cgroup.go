package doctor

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Cgroup is a hierarchy of control groups that this process is in.
type Cgroup struct {
	Version     int      `json:"version"`
	Controllers []string `json:"controllers,omitempty"`
	Dir         string   `json:"dir"`                // of the group that this process is in
	Writable    *bool    `json:"writable,omitempty"` // groups can be made below it
}

// mounted is a hierarchy and where its top is.
type mounted struct {
	Cgroup
	top string
}

// readCgroups finds the hierarchies that are mounted (proc_pid_mountinfo(5)) and this process's place in them (cgroups(7)).
func readCgroups(root fs.FS) (groups []mounted) {
	places := membership(content(root, "proc/self/cgroup"))
	for line := range strings.Lines(content(root, "proc/self/mountinfo")) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		g := mounted{top: left[4]}
		switch right[0] {
		case "cgroup2":
			g.Version = 2
			g.Dir = below(g.top, left[3], places[""])
			g.Controllers = strings.Fields(firstLine(root, inside(g.Dir, "cgroup.controllers")))
		case "cgroup":
			g.Version = 1
			for option := range strings.SplitSeq(right[2], ",") {
				if place, ok := places[option]; ok && option != "" {
					g.Controllers = append(g.Controllers, option)
					g.Dir = below(g.top, left[3], place)
				}
			}
			if len(g.Controllers) == 0 || strings.HasPrefix(g.Controllers[0], "name=") {
				continue
			}
		default:
			continue
		}
		groups = append(groups, g)
	}
	return groups
}

// membership maps controllers to the group that this process is in; "" is the hierarchy of version 2.
func membership(text string) map[string]string {
	places := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			places[controller] = parts[2]
		}
	}
	return places
}

// below is where a group is, in a hierarchy of which the part below shown is mounted at top. A group outside of that part
// cannot be seen; what governs it here is the top.
func below(top, shown, group string) string {
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(shown, "/"))
	if !ok {
		return top
	}
	return path.Join(top, rest)
}

// inside is the name of a group's file in an fs.FS.
func inside(dir, file string) string { return strings.TrimPrefix(path.Join(dir, file), "/") }

// upwards calls visit with the group of a hierarchy and all groups above it, which restrict it, too.
func (g *mounted) upwards(visit func(dir string)) {
	for dir := g.Dir; ; dir = path.Dir(dir) {
		visit(dir)
		if dir == g.top || len(dir) < len(g.top) {
			return
		}
	}
}

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
