package scenario

import (
	"strings"
	"testing"
)

func TestMachines(t *testing.T) {
	for _, c := range []struct {
		text string
		want Machine
		err  string
	}{
		{"1cpu-2gb", Machine{"1cpu-2gb", 1, 2 << 30, 300_000}, ""},
		{"4cpu-8gb", Machine{"4cpu-8gb", 4, 8 << 30, 300_000}, ""},
		{"host", Machine{}, ""},
		{"{cpus: 1.5, memory: 512MiB, files: 1024}", Machine{"{cpus: 1.5, memory: 512MiB, files: 1024}", 1.5, 512 << 20, 1024}, ""},
		{"{memory:16MiB}", Machine{"{memory: 16MiB}", 0, 16 << 20, 300_000}, ""},
		{"{ files: 300000 }", Machine{"{files: 300000}", 0, 0, 300_000}, ""},
		{"{memory: 1GB, cpus: 2}", Machine{"{cpus: 2, memory: 1000000000B}", 2, 1e9, 300_000}, ""},
		{"1cpu", Machine{}, "is no machine: write 1cpu-2gb"},
		{"", Machine{}, "is no machine"},
		{"{}", Machine{}, "is no machine"},
		{"{cpus: 0}", Machine{}, "no number of cores"},
		{"{cpus: NaN}", Machine{}, "no number of cores"},
		{"{cpus: 1, cpus: 2}", Machine{}, "cpus is written twice"},
		{"{memory: 5}", Machine{}, "too little: at least 1MiB"},
		{"{memory: 2000TiB}", Machine{}, "is no size"},
		{"{cpu: 1}", Machine{}, `did you mean "cpus"`},
		{"{files: 3}", Machine{}, "no number from 16"},
	} {
		got, err := parseMachine(c.text)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q is %+v, %v; want %+v, %s", c.text, got, err, c.want, c.err)
		}
		if again, err := parseMachine(got.Name); got.Name != "" && (again != got || err != nil) {
			t.Errorf("%q reads as %+v, %v", got.Name, again, err)
		}
	}
}

func FuzzMachine(f *testing.F) {
	for _, s := range []string{"1cpu-2gb", "{cpus: 1.5, memory: 512MiB, files: 300000}", "{cpus: 1e3}", "{memory:1KiB", "host"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMachine(text)
		if err != nil || m.Name == "" {
			return
		}
		if again, err := parseMachine(m.Name); again != m || err != nil {
			t.Errorf("%q: %+v is written so that it reads as %+v, %v", text, m, again, err)
		}
	})
}

func TestMachineInScenario(t *testing.T) {
	s := Decode("a.yaml", []byte("subjects: mochi\nmachine: 2cpu-4gb\nmatrix:\n  machine:\n    - 1cpu-2gb\n    - {cpus: 0.5, memory: 64MiB}\n    - cpus: 2\n      files: 1000\n    - host\n"))
	points, problems := s.Points()
	if problems.Err() != nil {
		t.Fatal(problems.Err())
	}
	var names []string
	for _, p := range points {
		names = append(names, p.Machine.Name)
	}
	if got, want := strings.Join(names, "; "), "1cpu-2gb; {cpus: 0.5, memory: 64MiB}; {cpus: 2, files: 1000}; "; got != want {
		t.Errorf("machines are %q, want %q", got, want)
	}
	s.On("{memory: 32MiB}")
	if points, problems = s.Points(); len(points) != 1 || problems.Err() != nil || points[0].Machine.Memory != 32<<20 {
		t.Errorf("after --machine: %d points, %+v, %v", len(points), points[0].Machine, problems.Err())
	}
	bad := Decode("a.yaml", []byte("subjects: mochi\nmachine: {cpus: [1, 2]}\n"))
	if err := bad.Err(); err == nil || !strings.Contains(err.Error(), "a.yaml:2") {
		t.Errorf("a list of cpus: %v", err)
	}
}
