package main

import (
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// strict is a broker that refuses what installed ones cannot be told to refuse.
type strict struct {
	mochi.HookBase
	server      *mochi.Server
	version     byte // the only one that is spoken, by its number in CONNECT (4 is 3.1.1); 0 = all
	noPublish   bool
	noSubscribe bool
}

func (*strict) ID() string { return "strict" }

func (*strict) Provides(b byte) bool {
	return b == mochi.OnConnect || b == mochi.OnConnectAuthenticate || b == mochi.OnACLCheck
}

func (s *strict) OnConnect(cl *mochi.Client, p packets.Packet) error {
	if s.version == 0 || p.ProtocolVersion == s.version {
		return nil
	}
	return errors.Join(packets.ErrUnsupportedProtocolVersion,
		s.server.SendConnack(cl, packets.ErrUnsupportedProtocolVersion, false, nil))
}

func (*strict) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

func (s *strict) OnACLCheck(_ *mochi.Client, _ string, write bool) bool {
	if write {
		return !s.noPublish
	}
	return !s.noSubscribe
}

// startStrict runs a strict broker until the end of the script.
func startStrict(ts *script, neg bool, args []string) {
	usageOf(ts, "strict version=NUMBER|no-publish|no-subscribe", len(args) == 1, neg)
	s := &strict{server: mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})}
	number, one := strings.CutPrefix(args[0], "version=")
	if one {
		n, err := strconv.ParseUint(number, 10, 8)
		ts.Check(err)
		s.version = byte(n)
	}
	s.noPublish, s.noSubscribe = args[0] == "no-publish", args[0] == "no-subscribe"
	ts.Check(s.server.AddHook(s, nil))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	setPort(ts, portVariable(nil, 0), l)
	ts.Check(s.server.AddListener(listeners.NewNet("net", l)))
	ts.Check(s.server.Serve())
	ts.Defer(func() { _ = s.server.Close() })
}
