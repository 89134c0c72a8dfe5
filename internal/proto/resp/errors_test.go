package resp

import (
	"math"
	"testing"
	"time"
)

func TestServerError(t *testing.T) {
	for _, c := range []struct {
		text, want string
		temporary  bool
	}{
		{"LOADING Redis is loading the dataset in memory", "redis: server: LOADING Redis is|: the server is still reading its data", true},
		{"MASTERDOWN Link with MASTER is down.", "down: the server is a replica without its master", true},
		{"BUSY Redis is busy running a script.", "script: a script blocks the server", true},
		{"MISCONF Redis is configured to save RDB snapshots", "stop-writes-on-bgsave-error", false},
		{"READONLY You can't write against a read only replica.", "replica: the server is a replica: write to its master", false},
		{"MOVED 3999 127.0.0.1:6381", "part of a cluster", false},
		{"WRONGTYPE Operation against a key", "something else than a stream", false},
		{"NOGROUP No such key", "was deleted", false},
		{"ERR max number of clients reached", "maxclients", false},
		{"ERR Protocol error: invalid bulk length", "proto-max-bulk-len", false},
		{"ERR AUTH <password> called without any password configured for the default user. Are you sure", "no password for the default user", false},
		{"WHAT ever\nmore", "redis: server: WHAT ever", false},
		{"", "redis: server: ", false},
	} {
		err := parseError([]byte(c.text))
		says(t, err, c.want)
		if err.Temporary() != c.temporary {
			t.Errorf("%q: temporary %v", c.text, err.Temporary())
		}
	}
}

// TestBlock: a read never outlasts the keep-alive, whose PINGs wait for it.
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		groups int
		want   int // ms
	}{
		{Config{}, 1, 2000},
		{Config{Block: 5 * time.Second}, 1, 5000},
		{Config{Block: 5 * time.Second, KeepAlive: time.Second}, 1, 1000},
		{Config{Block: 10 * time.Second, KeepAlive: time.Minute}, 4, 2500},
		{Config{Block: 2 * time.Millisecond}, 4, 1},
	} {
		if got := c.cfg.block(c.groups); got != c.want {
			t.Errorf("%+v with %d groups blocks for %d ms, want %d", c.cfg, c.groups, got, c.want)
		}
	}
}

// TestSilence: neither side says goodbye, and the server has no timers.
func TestSilence(t *testing.T) {
	s := NewServer(&ServerConfig{})
	next, out, err := s.Tick(5, nil)
	if next != math.MaxInt64 || err != nil || len(out)+len(s.Close(nil))+len(accepted(t, &Config{}).Close(nil)) > 0 {
		t.Errorf("%d, %q, %v", next, out, err)
	}
}
