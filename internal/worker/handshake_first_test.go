package worker

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/mqlab/mqlab/internal/plan"
)

// TestHandshakeFirst: a NATS server that wants TLS before it says a word is found out, and takes all connections.
func TestHandshakeFirst(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	cfg := &tls.Config{Certificates: certified.TLS.Certificates}
	certified.Close()
	s, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true, TLSConfig: cfg, TLSHandshakeFirst: true, TLSTimeout: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("it is not ready")
	}
	trial := trialOf(nil)
	trial.Subject.Protocol = plan.NATS
	trial.Subject.TLS.SkipVerify = true
	trial.Params.Topic = "t.{run}.{stream}"
	if c := carryOut(t, plan.PatternPairs, Whole(3, trial, "tls://"+s.Addr().String())); c.Expected == 0 || c.Delivered != c.Expected {
		t.Errorf("%+v", c)
	}
}
