package worker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/secure"
	"github.com/mqlab/mqlab/internal/websocket"
)

// dialer makes connections to one broker. It implements engine.Dialer.
type dialer struct {
	ctx     context.Context
	place   netns.Place
	addr    string
	tls     *tls.Config // nil = plain TCP
	timeout time.Duration
	noDelay bool
	gate    *gate
	shakes  *handshakes
	// upgrade makes a connection a WebSocket; nil = it stays what it is.
	upgrade func(context.Context, net.Conn) (net.Conn, error)
	// greeting reads what the server says in the clear before the TLS handshake; nil = nothing.
	greeting func(net.Conn) ([]byte, error)
	tlsFirst *atomic.Bool // the server was found not to say anything
	// carriers are connections that several clients share; nil = each has its own.
	carriers *carriers
}

// newDialer makes what connects to a URL in order to speak a protocol.
func (w *Local) newDialer(where netns.Place, url, protocol string) (*dialer, error) {
	end, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	p := &w.share.Trial.Params
	d := &dialer{
		ctx: w.ctx, addr: end.addr, timeout: p.Connect.Timeout, noDelay: p.NoDelay, gate: &w.pubGate, shakes: &w.shakes,
	}
	if d.place, err = w.origin(where, end.addr, protocol); err != nil {
		return nil, err
	}
	if end.secure {
		if d.tls, err = secure.Config(w.share.Trial.Subject.TLS, end.host); err != nil {
			return nil, err
		}
		encrypt(d.tls, &p.Connect.TLS)
		if protocol == plan.NATS || protocol == plan.JetStream {
			d.greeting, d.tlsFirst = secure.Greeting, new(atomic.Bool)
		}
	}
	if end.webSocket {
		d.upgrade = func(ctx context.Context, c net.Conn) (net.Conn, error) {
			return websocket.Client(ctx, c, end.addr, end.path)
		}
	}
	return d, nil
}

// origin is where connections come from. A Redis server without a password, before version 7.2, takes those from 127.0.0.1 alone for
// its own host's.
func (w *Local) origin(where netns.Place, addr, protocol string) (netns.Place, error) {
	p := &w.share.Trial.Params
	switch {
	case len(p.Connect.Sources) > 0:
		return netns.From(where, p.Connect.Sources)
	case plan.IsRedis(protocol):
		return where, nil
	}
	return netns.Spread(where, addr, w.share.Trial.Connections()+p.Connect.Lingering()), nil
}

// sources tells that connections come from several addresses, if they do.
func (d *dialer) sources() []string {
	if n := netns.Sources(d.place); n > 1 {
		return []string{"source_addresses=" + strconv.Itoa(n)}
	}
	return nil
}

// needs says what it is about the connections that event loops cannot do; "" = nothing.
func (d *dialer) needs() string {
	user, userland := d.place.(netns.Userland)
	switch {
	case userland:
		return user.Userland()
	case d.tls != nil:
		return "TLS"
	case d.upgrade != nil:
		return "WebSocket"
	case d.carriers != nil:
		return "shared AMQP connections"
	}
	return ""
}

// Dial implements engine.Dialer.
func (d *dialer) Dial(at int64, began func(int64), done func(engine.Dialled, error)) {
	go func() {
		select {
		case <-time.After(time.Duration(at - clock.Now())):
		case <-d.ctx.Done():
		}
		start := clock.Now()
		began(start)
		ctx, cancel := context.WithTimeout(d.ctx, d.timeout)
		defer cancel()
		done(d.connect(ctx, start))
	}()
}

// connect makes a connection, or takes a channel of one that is shared.
func (d *dialer) connect(ctx context.Context, start int64) (engine.Dialled, error) {
	if d.carriers == nil {
		return d.establish(ctx, start)
	}
	conn, err := d.carriers.take(ctx, func() (net.Conn, error) {
		own, err := d.establish(ctx, start)
		return own.Conn, err
	})
	return engine.Dialled{Conn: conn, TCP: time.Duration(clock.Now() - start)}, err
}

func (d *dialer) establish(ctx context.Context, start int64) (engine.Dialled, error) {
	if err := d.gate.pass(ctx); err != nil {
		return engine.Dialled{}, d.explain(err)
	}
	conn, err := d.place.Dial(ctx, "tcp", d.addr)
	if err != nil {
		return engine.Dialled{}, d.explain(err)
	}
	established := clock.Now()
	if tcp, ok := conn.(interface{ SetNoDelay(on bool) error }); ok {
		if err := tcp.SetNoDelay(d.noDelay); err != nil {
			return engine.Dialled{}, errors.Join(err, conn.Close())
		}
	}
	got := engine.Dialled{Conn: conn, TCP: time.Duration(established - start)}
	if d.tls != nil {
		secure, err := d.handshake(ctx, conn)
		if err != nil {
			_ = conn.Close() // the handshake's error says more
			if errors.Is(err, errTLSFirst) {
				return d.establish(ctx, clock.Now()) // once more, with times that are the connection's own
			}
			return engine.Dialled{}, d.explainTLS(err)
		}
		got.Conn, got.TLS = secure, time.Duration(clock.Now()-established)
	}
	if d.upgrade != nil {
		ws, err := d.upgrade(ctx, got.Conn)
		if err != nil {
			_ = got.Conn.Close() // the error of the upgrade says more
			return engine.Dialled{}, &connectError{text: "connect " + d.addr + ": " + err.Error(), cause: err}
		}
		got.Conn = ws
	}
	return got, nil
}

// connectError words why a connection could not be made. Trying again helps only where the cause was passing.
type connectError struct {
	text    string
	cause   error
	passing bool
}

func (e *connectError) Error() string   { return e.text }
func (e *connectError) Unwrap() error   { return e.cause }
func (e *connectError) Temporary() bool { return e.passing }

func (d *dialer) explain(err error) error {
	e := &connectError{cause: err}
	var worded *connectError
	var dns *net.DNSError
	switch {
	case errors.As(err, &worded):
		return err
	case errors.As(err, &dns) && dns.IsNotFound:
		e.text = fmt.Sprintf("connect %s: the host name %q is unknown: check the URL", d.addr, dns.Name)
	case errors.As(err, &dns):
		e.text = fmt.Sprintf("connect %s: looking up %q failed: %s", d.addr, dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.text = fmt.Sprintf("connect %s: refused: nothing listens on that port", d.addr)
	case errors.Is(err, syscall.EMFILE):
		e.text = "connect: this process may not open more files: raise the limit (ulimit -n) or use fewer connections"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.text = "connect: this host has no free port left towards " + d.addr + ": use fewer connections or wait for old ones to expire"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.text = fmt.Sprintf("connect %s: no answer within %v", d.addr, d.timeout)
		e.passing = true
	default:
		var op net.Error
		e.passing = errors.As(err, &op) && (op.Timeout() || errors.Is(err, syscall.ECONNRESET))
		e.text = fmt.Sprintf("connect %s: %v", d.addr, err)
	}
	return e
}

// tlsAlert is the operation of the net.OpError by which crypto/tls reports an alert of the peer. Since TLS 1.3 the alert that there
// is no client certificate comes after the handshake.
const tlsAlert = "remote error"

// refused is what a broker may miss that gave up a handshake: a group of the key exchange, where few were offered (RFC 8446, 4.1.1), or a
// certificate.
func (d *dialer) refused(err error) string {
	const handshakeFailure = "tls: handshake failure" // the text of the alert; its type is not exported
	if groups := d.tls.CurvePreferences; len(groups) > 0 && err.Error() == handshakeFailure {
		return fmt.Sprintf(" (it may not know a key exchange by %v, which is all that connect.tls.groups offers)", groups[0])
	}
	return " (it may ask for a client certificate: tls.cert_file, tls.key_file)"
}

func (d *dialer) explainTLS(err error) error {
	e := &connectError{cause: err}
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var op *net.OpError
	prefix := "TLS with " + d.addr + ": "
	switch {
	case errors.As(err, &record):
		e.text = prefix + "the port does not speak TLS: use a plain URL (mqtt://, nats://) or the broker's TLS port"
	case errors.As(err, &unknown):
		e.text = prefix + "the certificate is not signed by an authority that is trusted here: name its CA with tls.ca_file"
	case errors.As(err, &host):
		e.text = prefix + "the certificate is for another host: " + host.Error()
	case errors.As(err, &invalid):
		e.text = prefix + "the certificate is not valid: " + invalid.Error()
	case errors.As(err, &op) && op.Op == tlsAlert:
		e.text = prefix + "the broker refused: " + op.Err.Error() + d.refused(op.Err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		e.text = prefix + "the broker closed the connection during the handshake: the port may not speak TLS, or grants less time than this network takes"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		e.text = fmt.Sprintf("%sno answer within %v: the port may not speak TLS", prefix, d.timeout)
	default:
		e.text = prefix + err.Error()
	}
	return e
}
