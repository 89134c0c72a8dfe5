package cgroup

import (
	"io/fs"
	"path"
	"strings"
)

// Hierarchy is a mounted tree of control groups.
type Hierarchy struct {
	Version     int
	Controllers []string // that it has at this process's group
	Top         string   // where it is mounted
	Dir         string   // of the group that this process is in, below Top
}

// Hierarchies reads from the file system root ("/" is os.DirFS("/")) which hierarchies are mounted
// (proc_pid_mountinfo(5)) and this process's place in them (cgroups(7)). Named hierarchies of version 1 that control
// nothing are left out.
func Hierarchies(root fs.FS) []Hierarchy { return hierarchies(root, "self") }

// hierarchies are Hierarchies with the place of another process, of this PID.
func hierarchies(root fs.FS, process string) (all []Hierarchy) {
	places := membership(content(root, "proc/"+process+"/cgroup"))
	for line := range strings.Lines(content(root, "proc/self/mountinfo")) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		h := Hierarchy{Top: left[4]}
		switch right[0] {
		case "cgroup2":
			h.Version = 2
			h.Dir = below(h.Top, left[3], places[""])
			h.Controllers = strings.Fields(content(root, strings.TrimPrefix(path.Join(h.Dir, "cgroup.controllers"), "/")))
		case "cgroup":
			h.Version = 1
			for option := range strings.SplitSeq(right[2], ",") {
				if place, ok := places[option]; ok && option != "" {
					h.Controllers = append(h.Controllers, option)
					h.Dir = below(h.Top, left[3], place)
				}
			}
			if len(h.Controllers) == 0 || strings.HasPrefix(h.Controllers[0], "name=") {
				continue
			}
		default:
			continue
		}
		all = append(all, h)
	}
	return all
}

// Upwards calls visit with this process's group and all groups above it, which restrict it, too.
func (h *Hierarchy) Upwards(visit func(dir string)) {
	for dir := h.Dir; ; dir = path.Dir(dir) {
		visit(dir)
		if dir == h.Top || len(dir) < len(h.Top) {
			return
		}
	}
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

// content is the text of a file, "" if it cannot be read.
func content(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(b)
}
