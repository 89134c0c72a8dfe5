package evidence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/diagnose"
)

func TestReadCSV(t *testing.T) {
	type m = diagnose.Message
	for _, c := range []struct {
		name, text string
		o          Options
		want       []m
		unit       string
		lost       int
		negative   int
		bad        []int
	}{
		{name: "header with units", text: "seq,send_us,recv_us\n1,10,25\n2,20,20.5\n", want: []m{{Sent: 10000, Recv: 25000}, {Sent: 20000, Recv: 20500}}, unit: "us"},
		{name: "units in brackets, semicolons, more columns", text: "host;t_recv [ms];t_send [ms]\na;3;1\n", want: []m{{Sent: 1e6, Recv: 3e6}}, unit: "ms"},
		{name: "due and done", text: "due_ns,sent_ns,received_ns,done_ns\n1,2,3,4\n", want: []m{{Due: 1, Sent: 2, Recv: 3, Done: 4}}, unit: "ns"},
		{name: "one latency a line", text: "0.5\n1.25\n", o: Options{Unit: "ms"}, want: []m{{Recv: 500000}, {Recv: 1250000}}, unit: "ms"},
		{name: "latencies with their units", text: "350us\n1.5ms\n2 ms\n", want: []m{{Recv: 350000}, {Recv: 1500000}, {Recv: 2e6}}},
		{name: "no header, seq send recv", text: "1 100 150\n2 200 260\n3 300 310\n", o: Options{Unit: "ns"}, want: []m{{Sent: 100, Recv: 150}, {Sent: 200, Recv: 260}, {Sent: 300, Recv: 310}}, unit: "ns"},
		{name: "no header, seq latency", text: "1,0.9\n2,0.8\n3,0.7\n4,0.1\n", o: Options{Unit: "ms"}, want: []m{{Recv: 900000}, {Recv: 800000}, {Recv: 700000}, {Recv: 100000}}, unit: "ms"},
		{
			name: "seconds since 1970, to the last digit", text: "send,recv\n1764547200.123456789,1764547200.123457000\n",
			want: []m{{Sent: 1764547200123456789, Recv: 1764547200123457000}}, unit: "s",
		},
		{name: "milliseconds since 1970", text: "send,recv\n1764547200123,1764547200125\n", want: []m{{Sent: 1764547200123e6, Recv: 1764547200125e6}}, unit: "ms"},
		{
			name: "lost, missing, negative, twice, broken", text: "seq,send_ms,recv_ms\n1,1,2\n2,2,\n3,3,lost\n7,7,6\n1,1,2\nx,1,2\n8,8\n9,abc,10\n10,10,11\n",
			want: []m{{Sent: 1e6, Recv: 2e6}, {Sent: 2e6, Lost: true}, {Sent: 3e6, Lost: true}, {Sent: 8e6, Lost: true}, {Sent: 10e6, Recv: 11e6}}, unit: "ms",
			lost: 3, negative: 1, bad: []int{7, 9},
		},
		{name: "a wide gap is counted in full", text: "seq,send_ns,recv_ns\n1,1,2\n9000000,3,4\n", want: []m{{Sent: 1, Recv: 2}, {Sent: 3, Recv: 4}}, unit: "ns", lost: 8_999_998},
		{name: "comments and empty lines", text: "# made by x\n\nlatency_ns\n5\n\n6\n", want: []m{{Recv: 5}, {Recv: 6}}, unit: "ns"},
	} {
		got, err := ReadCSV(strings.NewReader(c.text), c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var bad []int
		for _, b := range got.Bad {
			bad = append(bad, b.Line)
		}
		if !slices.Equal(got.Input.Messages, c.want) || got.Unit != c.unit || got.Input.Lost != c.lost || got.Input.Negative != c.negative || !slices.Equal(bad, c.bad) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestReadCSVErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no line with figures"},
		{"seq,send_ms,recv_ms\n", "no line with figures"},
		{"1.5\n2.5\n", "--unit"},
		{"send,recv\n100,200\n", "--unit"},
		{"colour,shape\nred,round\n", "no column of the header is known"},
		{"1,2,3,4\n5,6,7,8\n", "what they are is not clear"},
		{"latency_ms\na\nb\n3\n", "2 of 3 lines cannot be read, the first is line 2: \"a\" is no figure"},
		{"seq,send_ns,recv_ns\n0,1,2\n18446744073709551615,3,4\n", "more than can be counted"},
		{"a\x00b\n", "no text"},
	} {
		_, err := ReadCSV(strings.NewReader(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ReadCSV(strings.NewReader("1\n"), Options{Unit: "hours"}); err == nil || !strings.Contains(err.Error(), "there are ns") {
		t.Errorf("hours: %v", err)
	}
	if _, err := ReadCSV(strings.NewReader("5\n6\n"), Options{}); !errors.Is(err, ErrUnit) {
		t.Errorf("no unit: %v", err)
	}
}

// TestSources: latencies alone are no times.
func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"latency_ms\n1\n":                      "[]",
		"send_ms,recv_ms\n1,2\n":               "[times]",
		"due_ms,send_ms,recv_ms,done\n1,1,2,3": "[times schedule callbacks]",
	} {
		got, err := ReadCSV(strings.NewReader(text), Options{})
		if err != nil || fmt.Sprint(got.Input.Sources) != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add([]byte("seq,send_ms,recv_ms\n1,1,2\n2,2,\n"), "")
	f.Add([]byte("1.5\n-2e3\n7ms\n"), "us")
	f.Add([]byte("a;b;c\n1;2;3\n"), "ns")
	f.Add([]byte("1 2 3\n2 3 4\n"), "s")
	f.Fuzz(func(t *testing.T, data []byte, unit string) {
		table, err := ReadCSV(strings.NewReader(string(data)), Options{Unit: unit})
		if err != nil {
			return
		}
		for _, m := range table.Input.Messages {
			if !m.Lost && m.Recv < m.Sent {
				t.Errorf("negative: %+v", m)
			}
		}
		if n := len(table.Input.Messages) + table.Input.Negative + table.BadTotal + table.Duplicate; n != table.Lines {
			t.Errorf("%d lines, %d accounted for", table.Lines, n)
		}
		diagnose.Diagnose(&table.Input)
	})
}
