//go:build linux

package main

import (
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRedisMedian(t *testing.T) {
	const head = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms"` + "\n"
	if d, err := redisMedian(head + `"PUBLISH bench x","1.0","0.02","0.01","0.023","0.05"` + "\n"); err != nil || d != 23*time.Microsecond {
		t.Errorf("%v, %v", d, err)
	}
	for _, bad := range []string{"", head, "\"a\",\"b\"\n1,2\n", head + `"x","1","2","3","soon","5"` + "\n"} {
		if d, err := redisMedian(bad); err == nil {
			t.Errorf("%q is read as %v", bad, d)
		}
	}
}

func TestDeviation(t *testing.T) {
	steady := func(change func(k int) int64) (times []int64) {
		for k := range 200 {
			times = append(times, 1_000+int64(k)*int64(pace)+change(k))
		}
		return times
	}
	for _, c := range []struct {
		name   string
		change func(k int) int64
		want   float64
	}{
		{"steady", func(int) int64 { return 0 }, 0},
		{"late from the start", func(int) int64 { return 77 }, 0},
		{"one message late", func(k int) int64 {
			if k == 50 {
				return 1e9
			}
			return 0
		}, 0}, // one in two hundred
		{"every tenth late", func(k int) int64 {
			if k%10 == 0 {
				return 5e6
			}
			return 0
		}, 5e6},
		{"a tenth too slow", func(k int) int64 { return int64(k) * 1e6 }, 98.5e6}, // adds up
	} {
		if got := deviation(steady(c.change), pace); got < c.want*0.99 || got > c.want*1.01 {
			t.Errorf("%s: %g ns, want %g", c.name, got, c.want)
		}
	}
}

// TestRelay: what is sent comes through; messages are noted, what is smaller is not.
func TestRelay(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	go func() { // a broker that answers with what it gets
		if c, err := ln.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	r, err := newRelay(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(text string) {
		t.Helper()
		back := make([]byte, len(text))
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, back); err != nil || string(back) != text {
			t.Fatalf("%q came back for %q, %v", back, text, err)
		}
	}
	before := time.Now().UnixNano()
	for range 10_000 { // the kernel does not stamp at once
		exchange("PING")
		exchange(strings.Repeat("m", payloadBytes+6))
		if len(r.arrivals()) > 0 {
			break
		}
	}
	_ = c.Close()
	r.close()
	if times := r.arrivals(); len(times) != 1 || times[0] < before || times[0] > time.Now().UnixNano() {
		t.Errorf("arrivals %v, want one after %d", times, before)
	}
}

func TestArrivalsOfOneRead(t *testing.T) {
	r := &relay{reads: []arrival{{10, 80}, {20, 240}, {30, 81}}}
	if got := r.arrivals(); !slices.Equal(got, []int64{10, 20, 20, 20, 30}) {
		t.Error(got)
	}
}

// TestCommands: each peer is told where the broker is, and how much to do.
func TestCommands(t *testing.T) {
	at, err := url.Parse("mqtt://127.0.0.9:4711")
	if err != nil {
		t.Fatal(err)
	}
	for i := range peers {
		p := &peers[i]
		if p.get == "" || p.most == 0 || (p.latency == nil) != (p.median == nil) {
			t.Errorf("%s is not complete", p.name)
		}
		for what, f := range map[string]func(*url.URL, int) command{"publish": p.publish, "idle": p.idle, "paced": p.paced, "latency": p.latency} {
			if f == nil {
				continue
			}
			c := f(at, 300)
			line := strings.Join(c.args, " ")
			if !strings.Contains(line, "127.0.0.9") || !strings.Contains(line, "4711") {
				t.Errorf("%s, %s: %s does not name the broker", p.name, what, line)
			}
			if c.in != nil {
				if b, err := io.ReadAll(c.in); err != nil || strings.Count(string(b), "\n") != 300 {
					t.Errorf("%s, %s: %d lines, %v", p.name, what, strings.Count(string(b), "\n"), err)
				}
			}
		}
	}
}
