package probe

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/mqlab/mqlab/internal/plan"
)

// The answers follow the configuration: each setting is changed in a real broker, and the answer must change with it.

func TestMosquittoFollows(t *testing.T) {
	t.Parallel()
	store := []string{"persistence true", "persistence_location $DIR/"}
	for _, c := range []struct {
		name, question string
		settings       []string
		want           string // what the value begins with
		figure         string
		is             int64
	}{
		{"max_queued_messages", AskOffline, []string{"max_queued_messages 50"}, "50, newest dropped", "arrived", 50},
		{"no max_queued_messages", AskOffline, []string{"max_queued_messages 0"}, "no limit to 12,000", "arrived", 12000},
		{"max_inflight_messages", AskInFlight, []string{"max_inflight_messages 7"}, "7", "messages", 7},
		{"max_inflight_messages", AskReceiveMax, []string{"max_inflight_messages 7"}, "7", "claimed", 7},
		{"max_packet_size", AskPacket, []string{"max_packet_size 5000"}, "4,976 B payload", "packet_bytes", 5002},
		{"message_size_limit", AskPacket, []string{"message_size_limit 3000"}, "3,000 B payload", "payload_bytes", 3000},
		{"set_tcp_nodelay", AskNagle, []string{"set_tcp_nodelay true"}, "off", "", 0},
		{"retain_available", AskRetained, []string{"retain_available false"}, "no", "", 0},
		{"queue_qos0_messages", AskOffline0, []string{"queue_qos0_messages true"}, "queued", "", 0},
		{"max_qos", AskQoS2, []string{"max_qos 1"}, "no", "", 0},
		{"persistence", AskTerm, store, "yes", "queued", 10},
		{"persistence", AskKill, store, "no", "queued", 0},
		{"autosave", AskKill, append([]string{"autosave_on_changes true", "autosave_interval 1"}, store...), "yes", "queued", 10},
		{"max_queued_messages", AskSlow, []string{"max_queued_messages 200"}, "", "", 0},
		{"no max_queued_messages", AskSlow, []string{"max_queued_messages 0"}, "all kept to 64.0 MiB", "lost", 0},
	} {
		t.Run(c.question+"/"+c.name, func(t *testing.T) {
			r := mosquitto(t, c.settings...)
			a := r.answer(c.question)
			if a.Value == "" || !strings.HasPrefix(a.Value, c.want) || c.figure != "" && a.Figures[c.figure] != c.is {
				t.Errorf("%+v, want %s, %s %d", a, c.want, c.figure, c.is)
			}
			if len(c.settings) > 0 && c.question == AskSlow && c.want == "" && (a.Figures["lost"] == 0 || !strings.HasSuffix(a.Value, "newest dropped")) {
				t.Errorf("%+v: with a short queue much is lost", a)
			}
		})
	}
}

func TestNATSFollows(t *testing.T) {
	t.Parallel()
	t.Run("max_payload", func(t *testing.T) {
		for limit, line := range map[int64]string{2000: "max_payload: 2000", 1 << 20: ""} {
			if a := natsServer(t, "nats", line).answer(AskPayload); a.Figures["payload_bytes"] != limit {
				t.Errorf("max_payload %d: %+v", limit, a)
			}
		}
	})
	for _, c := range []struct {
		name  string
		lines []string
		want  string
		most  int64 // bytes sent
		lost  bool
	}{
		{"shipped", nil, "cut at", slowBound, true},
		{"max_pending", []string{"max_pending: 8MB", `write_deadline: "2s"`}, "cut at", 24 << 20, true},
		// At how many bytes depends on how many go out within the second.
		{"write_deadline", []string{"max_pending: 512MB", `write_deadline: "1s"`}, "cut at", slowBound, true},
		{"patient", []string{"max_pending: 512MB", `write_deadline: "60s"`}, "all kept to 64.0 MiB", slowBound, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := natsServer(t, "nats", c.lines...).answer(AskSlow)
			if !strings.HasPrefix(a.Value, c.want) || a.Figures["sent_bytes"] > c.most || (a.Figures["lost"] > 0) != c.lost {
				t.Errorf("%+v, want %s, at most %d bytes, losses: %v", a, c.want, c.most, c.lost)
			}
		})
	}
}

func TestRedisFollows(t *testing.T) {
	t.Parallel()
	buffer := "--client-output-buffer-limit"
	for _, c := range []struct {
		name, question string
		args           []string
		want           string
		figure         string
		least, most    int64
	}{
		{"shipped", AskSlow, nil, "cut at", "sent_bytes", 32 << 20, 37 << 20},
		{"8 MiB", AskSlow, []string{buffer, "pubsub 8mb 0 0"}, "cut at", "sent_bytes", 8 << 20, 14 << 20},
		{"no limit", AskSlow, []string{buffer, "pubsub 0 0 0"}, "all kept", "lost", 0, 0},
		{"shipped", AskPayload, nil, "none to", "tried_bytes", 16 << 20, 16 << 20},
		{"proto-max-bulk-len", AskPayload, []string{"--proto-max-bulk-len", "1048576"}, "", "payload_bytes", 1 << 20, 1 << 20},
		{"shipped", AskTerm, nil, "yes", "left", 10, 10},
		{"no snapshots", AskTerm, []string{"--save", ""}, "no", "left", 0, 0},
		{"shipped", AskKill, nil, "no", "left", 0, 0},
		{"appendonly", AskKill, []string{"--appendonly", "yes", "--appendfsync", "always"}, "yes", "left", 10, 10},
	} {
		t.Run(c.question+"/"+c.name, func(t *testing.T) {
			a := redisServer(t, c.args...).answer(c.question)
			if got := a.Figures[c.figure]; !strings.HasPrefix(a.Value, c.want) || got < c.least || got > c.most {
				t.Errorf("%+v, want %s, %s %d to %d", a, c.want, c.figure, c.least, c.most)
			}
			if strings.HasPrefix(a.Value, "cut") && a.Figures["lost"] != a.Figures["sent"]-a.Figures["arrived"] {
				t.Errorf("%+v: the loss is not what was sent and did not arrive", a)
			}
		})
	}
}

// TestJetStreamFollows: limits of the configuration bound what a consumer may have in flight and what is taken; a server without
// JetStream says so.
func TestJetStreamFollows(t *testing.T) {
	t.Parallel()
	store := `jetstream { store_dir: "$DIR/store" }`
	for _, c := range []struct {
		question string
		lines    []string
		want     string
		figure   string
		is       int64
	}{
		{AskInFlight, []string{store}, "1,000", "messages", 1000},
		{AskInFlight, []string{`jetstream { store_dir: "$DIR/store", limits { max_ack_pending: 60 } }`}, "60", "messages", 60},
		{AskPayload, []string{store, "max_payload: 3000"}, "3,000 B", "payload_bytes", 3000},
		{AskLimit, []string{store}, "1,000, oldest dropped", "arrived", 1000},
		{AskRedelivery, []string{store}, "yes, to others too", "claimed", 10},
		{AskKill, []string{store}, "yes", "left", 10},
	} {
		t.Run(c.question, func(t *testing.T) {
			t.Parallel()
			r := jetServer(t, c.lines...)
			if a := r.answer(c.question); !strings.HasPrefix(a.Value, c.want) || a.Figures[c.figure] != c.is {
				t.Errorf("%+v, want %s, %s %d", a, c.want, c.figure, c.is)
			}
		})
	}
	s, err := plan.ParseSubject(jetServer(t).url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), s, s.URL, Options{}); err == nil || !strings.Contains(err.Error(), "JetStream off") {
		t.Errorf("a server without JetStream: %v", err)
	}
}

// jetServer is a NATS server that is asked about JetStream.
func jetServer(t *testing.T, lines ...string) *rig {
	r := natsServer(t, "nats", lines...)
	r.url += "/jetstream"
	return r
}

func TestStreamsFollow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question string
		args     []string
		want     string
		figure   string
		is       int64
	}{
		{AskKill, nil, "no", "left", 0},
		{AskKill, []string{"--appendonly", "yes", "--appendfsync", "always"}, "yes", "left", 10},
		{AskRedelivery, nil, "yes, to others too", "claimed", 10},
		{AskConfirms, nil, "yes", "", 0},
		{AskConfirms, []string{"--maxmemory", "100kb"}, "no", "", 0},
		{AskGroups, nil, "yes", "", 0},
	} {
		r := redisServer(t, c.args...)
		r.url += "/redis-streams"
		if a := r.answer(c.question); !strings.HasPrefix(a.Value, c.want) || a.Figures[c.figure] != c.is {
			t.Errorf("%s %q: %+v, want %s, %s %d", c.question, c.args, a, c.want, c.figure, c.is)
		}
	}
}

// TestWebSocketFollows: the questions of MQTT, within WebSocket frames.
func TestWebSocketFollows(t *testing.T) {
	t.Parallel()
	port := ports(t, 1)[0]
	r := mosquitto(t, "max_inflight_messages 7", fmt.Sprintf("listener %d 127.0.0.1", port), "protocol websockets")
	r.url = fmt.Sprintf("ws://127.0.0.1:%d/mqtt", port)
	if err := r.listening(t.Context()); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{AskInFlight: "7", AskRetained: "yes, wildcards too", AskQoS2: "yes", AskMQTT5: "yes"} {
		if a := r.answer(question); !strings.HasPrefix(a.Value, want) {
			t.Errorf("%s: %+v, want %s", question, a, want)
		}
	}
}

// anybody lets every client connect, publish and subscribe.
type anybody struct{ mochi.HookBase }

func (*anybody) ID() string { return "anybody" }

func (*anybody) Provides(b byte) bool {
	return b == mochi.OnConnectAuthenticate || b == mochi.OnACLCheck
}

func (*anybody) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

func (*anybody) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// mochiRig is a mochi broker in this process.
type mochiRig struct {
	rig
	server *mochi.Server
}

// mochiServer runs a mochi broker; change may change its capabilities.
func mochiServer(t *testing.T, change func(*mochi.Capabilities)) *mochiRig {
	t.Helper()
	c := mochi.NewDefaultServerCapabilities()
	if change != nil {
		change(c)
	}
	s := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler), Capabilities: c})
	if err := s.AddHook(new(anybody), nil); err != nil {
		t.Fatal(err)
	}
	l := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
	if err := s.AddListener(l); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &mochiRig{rig{t: t, url: "mqtt://" + l.Address()}, s}
}

func TestMochiFollows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question string
		change   func(*mochi.Capabilities)
		want     string
		figure   string
		is       int64
	}{
		{AskReceiveMax, func(c *mochi.Capabilities) { c.ReceiveMaximum = 5 }, "5, enforced", "claimed", 5},
		{AskPacket, func(c *mochi.Capabilities) { c.MaximumPacketSize = 4000 }, "3,976 B payload", "packet_bytes", 4002},
		{AskRetained, func(c *mochi.Capabilities) { c.RetainAvailable = 0 }, "no", "", 0},
		{AskShared, nil, "yes", "", 0},
		{AskQoS2, func(c *mochi.Capabilities) { c.MaximumQos = 1 }, "no", "", 0},
		{AskQoS1, func(c *mochi.Capabilities) { c.MaximumQos = 1 }, "yes", "", 0},
		{AskExpiry, func(c *mochi.Capabilities) { c.MaximumSessionExpiryInterval = 600 }, "at most 10m0s", "longest_s", 600},
		{AskOffline, func(c *mochi.Capabilities) { c.MaximumInflight = 100 }, "100, newest dropped", "arrived", 100},
		{AskMQTT311, func(c *mochi.Capabilities) { c.MinimumProtocolVersion = 5 }, "no", "", 0},
	} {
		t.Run(c.question, func(t *testing.T) {
			a := mochiServer(t, c.change).answer(c.question)
			if a.Value == "" || !strings.HasPrefix(a.Value, c.want) || c.figure != "" && a.Figures[c.figure] != c.is {
				t.Errorf("%+v, want %s, %s %d", a, c.want, c.figure, c.is)
			}
		})
	}
}
