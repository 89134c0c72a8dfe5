package prototest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/selfsigned"
)

func TestNATSToken(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "authorization { token: sesame }\n")
		dialNATS(t, addr, nats.NewClient(&nats.Config{Token: "sesame"}))
		wantError(t, refusal(t, addr, nats.NewClient(&nats.Config{Token: "guess"})), "Authorization Violation")
		wantError(t, refusal(t, addr, nats.NewClient(&nats.Config{})), "Authorization Violation")
	})
}

// TestNATSPermissions: what the server does not allow is reported, and the connection stays usable.
func TestNATSPermissions(t *testing.T) {
	const config = `authorization { users = [ { user: u, password: p, permissions: {
		publish: { deny: "secret.>" }, subscribe: { deny: ["secret.>", "jobs crew"] } } } ] }`
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		p := dialNATS(t, start(t, config), nats.NewClient(&nats.Config{User: "u", Password: "p"}))
		p.publish("secret.plan", []byte("x"))
		ev := p.next()
		if ev.Kind != proto.None {
			t.Errorf("a refused publish is reported as kind %d", ev.Kind)
		}
		wantError(t, ev.Err, `Permissions Violation for Publish to "secret.plan"`)

		p.subscribe(1, "open.>", "")
		p.subscribe(2, "secret.plan", "")
		p.subscribe(3, "jobs", "crew")
		p.subscribe(4, "jobs", "")
		p.expect(proto.Subscribed, 1)
		for token, subject := range []string{2: `"secret.plan"`, 3: `"jobs"`} {
			if subject == "" {
				continue
			}
			ev := p.next()
			if ev.Kind != proto.Subscribed || ev.Token != uint64(token) {
				t.Errorf("the refusal of %s is reported as kind %d, token %d", subject, ev.Kind, ev.Token)
			}
			wantError(t, ev.Err, "Permissions Violation for Subscription to "+subject)
		}
		p.expect(proto.Subscribed, 4)
		p.publish("open.door", []byte("in"))
		p.barrier(9)
		if got := p.until(9); len(got) != 1 || got[0] != "1 open.door in" {
			t.Errorf("got %q", got)
		}
	})
}

func TestNATSMaxPayload(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		p := dialNATS(t, start(t, "max_payload: 1000\n"), nats.NewClient(&nats.Config{}))
		p.publish("a", make([]byte, 1000))
		_, err := p.client.Publish(&proto.Message{Topic: []byte("a"), Payload: make([]byte, 1001)}, nil)
		wantError(t, err, "1001 bytes is above the limit of 1000 bytes")
		p.barrier(1)
		p.expect(proto.Barrier, 1)
		if err := p.Send(func(out []byte) ([]byte, error) { return append(out, "PUB a 1001\r\n"...), nil }); err != nil {
			t.Fatal(err)
		}
		_, err = p.Next(patience)
		wantError(t, err, "Maximum Payload Violation")
	})
}

func TestNATSMaxConnections(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "max_connections: 1\n")
		dialNATS(t, addr, nats.NewClient(&nats.Config{}))
		wantError(t, refusal(t, addr, nats.NewClient(&nats.Config{})), "maximum connections exceeded")
	})
}

func TestNATSMaxSubscriptions(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		p := dialNATS(t, start(t, "max_subscriptions: 1\n"), nats.NewClient(&nats.Config{}))
		p.subscribe(1, "a", "")
		p.subscribe(2, "b", "")
		p.expect(proto.Subscribed, 1)
		ev := p.next()
		if ev.Kind != proto.Subscribed || ev.Token != 2 {
			t.Errorf("got kind %d, token %d", ev.Kind, ev.Token)
		}
		wantError(t, ev.Err, "maximum subscriptions exceeded")
	})
}

// TestNATSAnswersPings: a server that cuts off the silent keeps us.
func TestNATSAnswersPings(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		p := dialNATS(t, start(t, "ping_interval: \"50ms\"\nping_max: 1\n"), nats.NewClient(&nats.Config{}))
		if ev, err := p.Next(time.Second); !errors.Is(err, prototest.ErrQuiet) {
			t.Fatalf("got %+v, %v", ev, err)
		}
		p.barrier(1)
		p.expect(proto.Barrier, 1)
	})
}

// TestNATSLameDuck: a server that is about to shut down says so.
func TestNATSLameDuck(t *testing.T) {
	t.Parallel()
	s := startNATS(t, "")
	p := dialNATS(t, s.Addr().String(), nats.NewClient(&nats.Config{}))
	ended := make(chan struct{})
	go func() {
		s.LameDuckShutdown()
		close(ended)
	}()
	ev := p.next()
	if ev.Kind != proto.None {
		t.Errorf("reported as kind %d", ev.Kind)
	}
	wantError(t, ev.Err, "lame duck")
	p.barrier(1)
	p.expect(proto.Barrier, 1)
	s.Shutdown()
	<-ended
}

// TestNATSOverTLS: the server greets in the clear, then both go over to TLS.
func TestNATSOverTLS(t *testing.T) {
	roots, files := certificateFiles(t)
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "tls { "+files+" }\n")
		wantError(t, refusal(t, addr, nats.NewClient(&nats.Config{})), "use tls://")

		g, err := readGreeting(addr)
		if err != nil {
			t.Fatal(err)
		}
		if !g.info.TLSRequired {
			t.Errorf("INFO does not ask for TLS: %+v", g.info)
		}
		g.over = tls.Client(g.Conn, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
		client := nats.NewClient(&nats.Config{TLS: true})
		p := &natsPeer{&clientPeer[*nats.Client]{Conn: prototest.NewConn(g, client), t: t, client: client}}
		defer func() { _ = p.Abort() }()
		p.expect(proto.Ready, 0)
		p.subscribe(1, "a", "")
		p.expect(proto.Subscribed, 1)
		p.publish("a", []byte("hello"))
		p.expect(proto.Delivered, 1)
	})
}

// certificateFiles writes a certificate for 127.0.0.1, and returns whom clients trust then, and the settings that name its files.
func certificateFiles(t *testing.T) (*x509.CertPool, string) {
	t.Helper()
	c, err := selfsigned.New(time.Hour, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.PEM)
	settings := ""
	for name, content := range map[string][]byte{"cert_file": c.PEM, "key_file": c.KeyPEM} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		settings += fmt.Sprintf("%s: %q\n", name, file)
	}
	return roots, settings
}
