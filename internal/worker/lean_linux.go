package worker

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// resident is how many bytes of this process are in memory, shared ones included.
func resident() (uint64, bool) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize()), err == nil
}

// unmapProgram makes the kernel forget which pages of the program's file this process has used. It is a favour: where it is not
// done, nothing is wrong.
func unmapProgram() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for _, m := range clean(f, exe) {
		_, _, _ = syscall.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// clean are the mappings of a file that hold nothing but what is in the file: they cannot be written, and no page of them has
// ever been (the loader writes in some before it protects them).
func clean(smaps io.Reader, file string) []mapping {
	var found []mapping
	var m mapping
	candidate := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		if head, isHead := mapped(line); isHead {
			m = head
			access := strings.Fields(line)[1]
			candidate = strings.HasSuffix(line, " "+file) && access[0] == 'r' && access[1] == '-' && access[3] == 'p'
			continue
		}
		if dirty, ok := strings.CutPrefix(line, "Anonymous:"); ok && candidate && strings.TrimSpace(dirty) == "0 kB" {
			found = append(found, m)
		}
	}
	return found
}

// mapped reads the line with which a mapping begins: "from-to access offset device inode path".
func mapped(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields[1]) != 4 {
		return m, false
	}
	from, to, found := strings.Cut(fields[0], "-")
	a, err := strconv.ParseUint(from, 16, 64)
	if err != nil || !found {
		return m, false
	}
	b, err := strconv.ParseUint(to, 16, 64)
	return mapping{uintptr(a), uintptr(b)}, err == nil && a < b
}
