package broker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestZenohd: where zenohd is in PATH it is taken, and gets each setting as an argument. It has no package here.
func TestZenohd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "zenohd")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho 'zenohd v1.9.0-modified built with rustc 1.85.0'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	f := zenohRouter{}.find(t.Context(), "")
	if !f.OK || f.Path != path || f.Version != "1.9.0-modified" {
		t.Errorf("found %+v", f)
	}
	s := &site{variant: Tuned, maxMessage: 2 << 30, path: path}
	want := []string{
		"--cfg", `mode:"router"`, "--cfg", `listen/endpoints:["tcp/127.0.0.1:7"]`,
		"--cfg", "scouting/multicast/enabled:false", "--cfg", "scouting/gossip/enabled:false",
		"--cfg", "transport/link/rx/max_message_size:2147484672",
		"--cfg", "transport/unicast/max_sessions:100000", "--cfg", "transport/unicast/accept_pending:10000",
		"--cfg", "transport/link/tx/queue/size/data:16",
		"--cfg", "transport/link/tx/queue/congestion_control/drop/wait_before_drop:100000",
		"--cfg", "transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments:100000",
		"--cfg", "transport/link/tx/queue/congestion_control/block/wait_before_close:60000000",
	}
	config := zenohSettings(s, "127.0.0.1:7")
	if diff := cmp.Diff(want, zenohArgs(config)); diff != "" {
		t.Error(diff)
	}
	// Whoever starts it without the lab would make it listen on every interface, and look for others.
	for _, key := range []string{"listen/endpoints", "scouting/multicast/enabled", "scouting/gossip/enabled"} {
		if !slices.ContainsFunc(config, func(c Setting) bool { return c.Key == key }) {
			t.Errorf("%s is not set", key)
		}
	}
}

// TestZenohNowhere: what to do is said where neither zenohd nor the package is here.
func TestZenohNowhere(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	t.Setenv("ZENOH_HOME", "")
	t.Setenv("MQLAB_CACHE", t.TempDir())
	f := zenohRouter{}.find(t.Context(), "")
	want := "Zenoh is not installed: neither $ZENOH_HOME nor the cache has it; scripts/brokers zenoh installs the Python package eclipse-zenoh"
	if f.OK || f.Why != want {
		t.Errorf("found %+v", f)
	}
	t.Setenv("ZENOH_HOME", "/nowhere")
	if f = (zenohRouter{}).find(t.Context(), ""); f.OK || f.Why != "/nowhere is no Zenoh: it has no lib/python3*/site-packages/eclipse_zenoh-*.dist-info" {
		t.Errorf("found %+v", f)
	}
}
