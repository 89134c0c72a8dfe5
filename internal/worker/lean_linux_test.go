package worker

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestOnlyWhatIsAsInTheFileIsUnmapped(t *testing.T) {
	const smaps = `00400000-00ec9000 r-xp 00000000 fe:00 1 /opt/my lab
Size:              11044 kB
Anonymous:             0 kB
00ec9000-012bc000 r--p 00ac9000 fe:00 1 /opt/my lab
Anonymous:             0 kB
012bc000-012bd000 r--p 00ebc000 fe:00 1 /opt/my lab
Anonymous:             4 kB
012bd000-01300000 rw-p 00ebd000 fe:00 1 /opt/my lab
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 2 /lib/other
Anonymous:             0 kB
7f0000002000-7f0000003000 r--s 00000000 fe:00 1 /opt/my lab
Anonymous:             0 kB
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
VmFlags: rd ex mr mw me de sd
`
	want := []mapping{{0x400000, 0xec9000}, {0xec9000, 0x12bc000}}
	if got := clean(strings.NewReader(smaps), "/opt/my lab"); !slices.Equal(got, want) {
		t.Errorf("%x, not %x", got, want)
	}
}

func TestTheProgramRunsOnWithItsPagesUnmapped(t *testing.T) {
	before, ok := resident()
	if !ok {
		t.Fatal("this process's memory is not known")
	}
	unmapProgram()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if len(clean(f, exe)) == 0 {
		t.Error("no part of the program is as it is in its file")
	}
	if after, _ := resident(); after >= before {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}
