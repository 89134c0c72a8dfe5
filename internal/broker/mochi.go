package broker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// serveMochi runs the embedded mochi-mqtt broker (https://github.com/mochi-mqtt/server).
//
// As shipped: a listener on the loopback interface (and one for WebSocket if clients speak over it), a hook that lets
// anybody in, no log. Every other setting is the library's own default; in particular 8192 packets may wait for a client,
// and further ones, of any QoS, are dropped.
//
// Tuned: 32,768 packets may wait for a client, and as many be in flight as MQTT allows; read and write buffers of
// 16 KiB instead of 2 save system calls; $SYS topics are sent once an hour instead of each second; GOGC=400 as for NATS.
func serveMochi(c *childConfig) (*report, func(), error) {
	o := &mochi.Options{Logger: slog.New(slog.DiscardHandler), Capabilities: mochi.NewDefaultServerCapabilities()}
	if c.Variant == Tuned {
		o.Capabilities.MaximumClientWritesPending = 32768
		o.Capabilities.MaximumInflight = 65535
		o.Capabilities.ReceiveMaximum = 65535
		o.ClientNetReadBufferSize = 16 << 10
		o.ClientNetWriteBufferSize = 16 << 10
		o.SysTopicResendInterval = 3600
	}
	s := mochi.New(o)
	if err := s.AddHook(new(anybody), nil); err != nil {
		return nil, nil, err
	}
	l := listeners.NewTCP(listeners.Config{ID: "tcp", Address: net.JoinHostPort(loopback, strconv.Itoa(c.port(0)))})
	if err := s.AddListener(l); err != nil {
		return nil, nil, err
	}
	var also []endpoint
	if common(overWebSocket, c.Protocols) {
		address, err := freeAddress(c.port(1))
		if err != nil {
			return nil, nil, err
		}
		if err := s.AddListener(listeners.NewWebsocket(listeners.Config{ID: "ws", Address: address})); err != nil {
			return nil, nil, err
		}
		also = []endpoint{{"ws", address}}
	}
	if err := s.Serve(); err != nil {
		return nil, nil, err
	}
	config, err := flatten(s.Options)
	if err != nil {
		return nil, nil, err
	}
	limits := map[string]int64{
		"max_inflight":    int64(s.Options.Capabilities.MaximumInflight),
		"max_queued":      int64(s.Options.Capabilities.MaximumClientWritesPending),
		"receive_maximum": int64(s.Options.Capabilities.ReceiveMaximum),
	}
	if n := s.Options.Capabilities.MaximumPacketSize; n > 0 {
		limits["max_packet_bytes"] = int64(n)
	}
	r := &report{
		Address: l.Address(),
		Also:    also,
		Version: mochiVersion(),
		Config:  config,
		Limits:  limits,
	}
	return r, func() { _ = s.Close() }, nil
}

// freeAddress is one that was free a moment ago, of this port or any: the listener for WebSocket does not tell which port it
// was given.
func freeAddress(port int) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// anybody lets every client connect, publish and subscribe.
type anybody struct{ mochi.HookBase }

func (*anybody) ID() string { return "anybody" }

func (*anybody) Provides(b byte) bool {
	return b == mochi.OnConnectAuthenticate || b == mochi.OnACLCheck
}

func (*anybody) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

func (*anybody) OnACLCheck(*mochi.Client, string, bool) bool { return true }

func mochiVersion() string { return moduleVersion("github.com/mochi-mqtt/server/v2", mochi.Version) }

// flatten writes options, as their JSON names them, as settings: "capabilities.maximum_inflight".
func flatten(options any) ([]Setting, error) {
	b, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // large limits are not to be rounded
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return appendTree(nil, "", tree), nil
}

func appendTree(config []Setting, prefix string, tree map[string]any) []Setting {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		switch v := tree[key].(type) {
		case nil:
		case map[string]any:
			config = appendTree(config, prefix+key+".", v)
		default:
			config = append(config, Setting{prefix + key, fmt.Sprint(v), effective})
		}
	}
	return config
}
