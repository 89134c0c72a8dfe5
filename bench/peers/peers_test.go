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
	got := make(chan string, 2)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte("hello"))
		b := make([]byte, 7)
		_, _ = io.ReadFull(c, b)
		got <- string(b)
		b, _ = io.ReadAll(c)
		got <- string(b)
		_ = c.Close()
	}()
	r, err := newRelay(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 5)
	if _, err := io.ReadFull(c, back); err != nil || string(back) != "hello" {
		t.Fatalf("%q, %v", back, err)
	}
	before := time.Now().UnixNano()
	sent := "CONNECT" + strings.Repeat("m", payloadBytes+6)
	if _, err := c.Write([]byte(sent[:7])); err != nil {
		t.Fatal(err)
	}
	if first := <-got; first != sent[:7] { // so that they are read apart
		t.Errorf("%q came through, want %q", first, sent[:7])
	}
	if _, err := c.Write([]byte(sent[7:])); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if rest := <-got; rest != sent[7:] {
		t.Errorf("%q came through, want %q", rest, sent[7:])
	}
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
