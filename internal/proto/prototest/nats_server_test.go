package prototest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// TestNATSServer runs the suite against the server side of our own sessions.
func TestNATSServer(t *testing.T) {
	t.Parallel()
	guarded := &nats.ServerConfig{User: prototest.User, Password: prototest.Password, MaxPayload: guardedPayload - 1}
	prototest.Run(t, natsProtocol(nil), &prototest.Broker{
		Name: "lab", Addr: serveNATS(t, &nats.ServerConfig{}), Guarded: serveNATS(t, guarded), GuardedMaxPayload: guardedPayload,
	})
}

// TestNATSServerWithLibrary: nats.go is content with the server side of our sessions.
func TestNATSServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveNATS(t, &nats.ServerConfig{User: "u", Password: "p", MaxPayload: 200 << 10})
	_, err := natsgo.Connect("nats://"+addr, natsgo.UserInfo("u", "x"))
	if !errors.Is(err, natsgo.ErrAuthorization) {
		t.Errorf("a wrong password: %v", err)
	}
	nc := libraryNATS(t, addr, natsgo.UserInfo("u", "p"))
	if nc.MaxPayload() != 200<<10 || !nc.HeadersSupported() {
		t.Errorf("max_payload %d, headers %v", nc.MaxPayload(), nc.HeadersSupported())
	}
	all, err := nc.SubscribeSync("lab.>")
	if err != nil {
		t.Fatal(err)
	}
	few, err := nc.SubscribeSync("lab.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := few.AutoUnsubscribe(3); err != nil {
		t.Fatal(err)
	}
	for i, size := range natsSizes {
		m := natsgo.NewMsg(fmt.Sprintf("lab.%d", i))
		m.Data = prototest.Pattern(size)
		m.Header.Set("Lab", fmt.Sprint(i))
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, size := range natsSizes {
		m, err := all.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != fmt.Sprintf("lab.%d", i) || !slices.Equal(m.Data, prototest.Pattern(size)) ||
			m.Header.Get("Lab") != fmt.Sprint(i) {
			t.Errorf("message %d of %d bytes arrived as %d bytes on %s with %v", i, size, len(m.Data), m.Subject, m.Header)
		}
	}
	for i := range 3 {
		if _, err := few.NextMsg(patience); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if _, err := few.NextMsg(patience); !errors.Is(err, natsgo.ErrMaxMessages) {
		t.Errorf("a fourth message: %v", err)
	}
}

// serveNATS starts a router, which passes on headers.
func serveNATS(t *testing.T, cfg *nats.ServerConfig) string {
	t.Helper()
	router := prototest.Router{
		Open:     func() proto.Server { return nats.NewServer(cfg) },
		Match:    func(_ proto.Server, i *prototest.Interest, topic []byte) bool { return nats.Match(i.Pattern, topic) },
		Interest: func(s proto.Server, i *prototest.Interest) { i.Group = s.(*nats.Server).Group(i.Token) },
		Publish: func(to, from proto.Server, m *proto.Message, out []byte) ([]byte, error) {
			return to.(*nats.Server).PublishHeaders(m, from.(*nats.Server).Headers(), out)
		},
	}
	return router.Serve(t)
}
