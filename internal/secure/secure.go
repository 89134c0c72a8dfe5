// Package secure is what clients of brokers need for TLS: its settings, and NATS servers, which say a word before it.
package secure

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto/nats"
)

// Config loads what t names, for connections to host. Errors say which setting they are about.
func Config(t plan.TLS, host string) (*tls.Config, error) {
	cfg := &tls.Config{ServerName: host, InsecureSkipVerify: t.SkipVerify, MinVersion: tls.VersionTLS12} //nolint:gosec // only by an explicit flag that the report shows
	if t.ServerName != "" {
		cfg.ServerName = t.ServerName
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_file (--ca-file): %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca_file (--ca-file): %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.cert_file, tls.key_file (--cert-file, --key-file): %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// Greeting reads INFO, which NATS servers send before TLS, and what came with it. Deadlines are those of conn.
func Greeting(conn net.Conn) (said []byte, err error) {
	buf := make([]byte, 4<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return nil, err
		}
		said = append(said, buf[:n]...)
		if end, _, err := nats.Greeting(said); err != nil || end > 0 {
			return said, err
		}
	}
}

// Greeted is a connection whose first bytes, Said, have been read already.
type Greeted struct {
	net.Conn
	Said []byte
}

// Read returns what was said first.
func (g *Greeted) Read(b []byte) (int, error) {
	if len(g.Said) == 0 {
		return g.Conn.Read(b)
	}
	n := copy(b, g.Said)
	g.Said = g.Said[n:]
	return n, nil
}

// NetConn returns the connection below.
func (g *Greeted) NetConn() net.Conn { return g.Conn }
