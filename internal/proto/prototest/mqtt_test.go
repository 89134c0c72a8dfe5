package prototest_test

import (
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

const (
	guardedPacket  = 20_000 // bytes; the limit of the guarded brokers
	guardedPayload = guardedPacket
)

func mqttProtocol(version byte) *prototest.Protocol {
	return &prototest.Protocol{
		Name:      map[byte]string{mqtt.V311: "mqtt311", mqtt.V5: "mqtt5"}[version],
		NewClient: func(o *prototest.Options) prototest.Client { return mqttClient(version, o) },
		Separator: "/", One: "+", Rest: "#",
		QoS:      []uint8{0, 1, 2},
		Sessions: true, Retained: true, Wills: true,
		ReceiveMaximum: version == mqtt.V5,
	}
}

func mqttClient(version byte, o *prototest.Options) *mqtt.Client {
	cfg := &mqtt.Config{
		Version: version, CleanStart: !o.KeepSession, KeepAlive: o.KeepAlive, User: o.User,
		Window: o.Window, ReceiveMaximum: o.ReceiveMaximum, HoldAcks: o.HoldAcks,
	}
	if o.KeepSession {
		cfg.SessionExpiry = time.Minute
	}
	if o.Password != "" {
		cfg.Password = []byte(o.Password)
	}
	if o.WillTopic != "" {
		cfg.Will = &mqtt.Will{Topic: o.WillTopic, Payload: []byte(o.WillPayload)}
	}
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	return mqtt.NewClient(cfg, o.ID)
}

func TestMosquitto(t *testing.T) {
	t.Parallel()
	passwords := filepath.Join(t.TempDir(), "passwords")
	if out, err := exec.Command(find(t, "mosquitto_passwd"), "-c", "-b", passwords, prototest.User, prototest.Password).
		CombinedOutput(); err != nil {
		t.Fatalf("mosquitto_passwd: %v\n%s", err, out)
	}
	b := &prototest.Broker{
		Name:    "mosquitto",
		Addr:    mosquitto(t, "allow_anonymous true\n"),
		Guarded: mosquitto(t, fmt.Sprintf("allow_anonymous false\npassword_file %s\nmax_packet_size %d\n", passwords, guardedPacket)),

		GuardedMaxPayload: guardedPayload,
	}
	for _, version := range []byte{mqtt.V311, mqtt.V5} {
		p := mqttProtocol(version)
		t.Run(p.Name, func(t *testing.T) { prototest.Run(t, p, b) })
	}
}

func TestMochi(t *testing.T) {
	t.Parallel()
	b := &prototest.Broker{
		Name:    "mochi",
		Addr:    mochiBroker(t, 0, &doorman{open: true}),
		Guarded: mochiBroker(t, guardedPacket, new(doorman)),

		GuardedMaxPayload: guardedPayload,
		KeptUnordered:     true,
		LosesUnconfirmed:  true,
	}
	for _, version := range []byte{mqtt.V311, mqtt.V5} {
		p := mqttProtocol(version)
		t.Run(p.Name, func(t *testing.T) { prototest.Run(t, p, b) })
	}
}

// doorman lets everyone in, or only those who know the password; inside everything is allowed.
type doorman struct {
	mochi.HookBase
	open bool
}

func (*doorman) ID() string { return "doorman" }

func (*doorman) Provides(hook byte) bool {
	return hook == mochi.OnConnectAuthenticate || hook == mochi.OnACLCheck
}

func (d *doorman) OnConnectAuthenticate(_ *mochi.Client, pk packets.Packet) bool {
	return d.open || string(pk.Connect.Username) == prototest.User && string(pk.Connect.Password) == prototest.Password
}

func (*doorman) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// mochiBroker starts an embedded broker and returns its address.
func mochiBroker(t *testing.T, maxPacket uint32, hook mochi.Hook) string {
	t.Helper()
	capabilities := mochi.NewDefaultServerCapabilities()
	capabilities.MaximumPacketSize = maxPacket
	server := mochi.New(&mochi.Options{
		Capabilities: capabilities,
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err := server.AddHook(hook, nil); err != nil {
		t.Fatal(err)
	}
	listener := listeners.NewTCP(listeners.Config{ID: "t", Address: "127.0.0.1:0"})
	if err := server.AddListener(listener); err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return listener.Address()
}
