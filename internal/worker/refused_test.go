package worker

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRefusedGroup: where a broker does not know the only key exchange that is offered, that is what the error suspects.
func TestRefusedGroup(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	cfg := &tls.Config{Certificates: certified.TLS.Certificates, CurvePreferences: []tls.CurveID{tls.CurveP256}}
	certified.Close()
	near, far := net.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() { _ = tls.Server(far, cfg).HandshakeContext(ctx) }()
	d := &dialer{addr: "broker:8883", tls: &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}, InsecureSkipVerify: true}} //nolint:gosec // nothing is entrusted to it
	err := tls.Client(near, d.tls).HandshakeContext(ctx)
	if err == nil {
		t.Fatal("they agreed")
	}
	if said := d.explainTLS(err).Error(); !strings.Contains(said, "key exchange by X25519") {
		t.Error(said)
	}
}
