package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/secure"
)

// Handshakes are what the TLS handshakes of a trial cost and agreed on.
type Handshakes struct {
	Count     int    `json:"count"`
	Resumed   int    `json:"resumed"` // of earlier sessions
	BytesUp   uint64 `json:"bytes_up"`
	BytesDown uint64 `json:"bytes_down"`
	// Of the last one.
	Version string `json:"version"`
	Cipher  string `json:"cipher"`
	Group   string `json:"group"`
}

// Add adds those of another worker.
func (h *Handshakes) Add(o Handshakes) {
	h.Count += o.Count
	h.Resumed += o.Resumed
	h.BytesUp += o.BytesUp
	h.BytesDown += o.BytesDown
	if o.Count > 0 {
		h.Version, h.Cipher, h.Group = o.Version, o.Cipher, o.Group
	}
}

// handshakes gathers them from all dialers of a worker.
type handshakes struct {
	mu  sync.Mutex
	sum Handshakes
}

// total is nil if there were none.
func (h *handshakes) total() *Handshakes {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sum.Count == 0 {
		return nil
	}
	return new(h.sum)
}

func (h *handshakes) note(s *tls.ConnectionState, c *counted) {
	one := Handshakes{
		Count: 1, BytesUp: c.out.Load(), BytesDown: c.in.Load(),
		Version: tls.VersionName(s.Version), Cipher: tls.CipherSuiteName(s.CipherSuite), Group: s.CurveID.String(),
	}
	if s.CurveID == 0 {
		one.Group = "" // none was needed, or it is not told
	}
	if s.DidResume {
		one.Resumed = 1
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sum.Add(one)
}

// counted counts the bytes of a connection.
type counted struct {
	net.Conn
	in, out atomic.Uint64
}

// NetConn returns the connection below.
func (c *counted) NetConn() net.Conn { return c.Conn }

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(uint64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(uint64(n))
	return n, err
}

// errTLSFirst says that a server which may greet in the clear does not: it waits for TLS (handshake_first of NATS).
var errTLSFirst = errors.New("the server waits for TLS")

// greetingLimit is how long a greeting is waited for, once: after a silence TLS comes first on every connection.
const greetingLimit = 2 * time.Second

// hear reads the greeting in the clear.
func (d *dialer) hear(ctx context.Context, conn net.Conn) (said []byte, err error) {
	until, _ := ctx.Deadline()
	if limit := time.Now().Add(greetingLimit); limit.Before(until) {
		until = limit
	}
	if err = conn.SetDeadline(until); err == nil {
		said, err = d.greeting(conn)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil && len(said) == 0 {
		d.tlsFirst.Store(true)
		return nil, errTLSFirst
	}
	return said, errors.Join(err, conn.SetDeadline(time.Time{}))
}

func (d *dialer) handshake(ctx context.Context, conn net.Conn) (net.Conn, error) {
	var said []byte
	if d.greeting != nil && !d.tlsFirst.Load() {
		var err error
		if said, err = d.hear(ctx, conn); err != nil {
			return nil, err
		}
	}
	below := &counted{Conn: conn}
	encrypted := tls.Client(below, d.tls)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := encrypted.ConnectionState()
	d.shakes.note(&state, below)
	return &secure.Greeted{Conn: encrypted, Said: said}, nil
}

// groups are those of the key exchange, by the words of scenarios.
var groups = map[string]tls.CurveID{
	"x25519": tls.X25519, "p256": tls.CurveP256, "p384": tls.CurveP384, "x25519mlkem768": tls.X25519MLKEM768,
}

// mostSessions is how many sessions of TLS are kept for being resumed.
const mostSessions = 100_000

// encrypt makes a configuration of TLS what the trial asks for.
func encrypt(cfg *tls.Config, e *plan.Encryption) {
	switch e.Version {
	case "1.2":
		cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	case "1.3":
		cfg.MinVersion = tls.VersionTLS13
	}
	if id, chosen := groups[e.Groups]; chosen {
		cfg.CurvePreferences = []tls.CurveID{id}
		if e.Version == "1.2" && id != tls.CurveP256 { // there the list is of the curves of certificates, too (RFC 8422, section 5.1)
			cfg.CurvePreferences = append(cfg.CurvePreferences, tls.CurveP256)
		}
	}
	if e.Resume {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(mostSessions)
	}
}
