package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// natsServer runs an installed nats-server (https://docs.nats.io/running-a-nats-service/configuration).
//
// As shipped: a listener for clients and one for monitoring, by which the configuration in force is read back, both on
// the loopback interface. Every other setting is the server's own default; in particular a payload may have 1 MiB, and
// a subscriber with more than 64 MiB waiting for it is disconnected.
//
// JetStream is on only when it is spoken, or MQTT is, which needs it; it then has a folder of its own. There is a listener
// for MQTT only when that is spoken.
//
// Tuned: 256 MiB may wait for a subscriber and a write may take 60 s, so that a slow or paused one is not disconnected;
// and the garbage collector of Go lets the heap grow to five times what is in use (GOGC=400), which is small.
type natsServer struct{}

const (
	natsName          = "mqlab"
	natsMQTT          = plan.MQTT311 // the only version that it speaks
	natsTunedPending  = 256 << 20
	natsTunedDeadline = 60 * time.Second
	goGC              = "GOGC=400"
)

// natsStored are the protocols that need JetStream.
var natsStored = []string{plan.JetStream, natsMQTT}

// goGCSetting reports goGC.
var goGCSetting = Setting{"GOGC (environment)", "400", asWritten}

var natsVersion = regexp.MustCompile(`nats-server: v(\S+)`)

func (natsServer) find(ctx context.Context, binary string) Finding {
	return findProgram(ctx, binary, "nats-server", "nats-server", "--version", natsVersion)
}

func (natsServer) prepare(s *site) (*program, error) {
	port, err := s.port()
	if err != nil {
		return nil, err
	}
	web, err := s.port()
	if err != nil {
		return nil, err
	}
	address, monitoring := net.JoinHostPort(loopback, port), net.JoinHostPort(loopback, web)
	config := []Setting{
		{"listen", strconv.Quote(address), asWritten},
		{"http", strconv.Quote(monitoring), asWritten},
	}
	config = append(config, natsOptions(s)...)
	p := &program{
		scheme: "nats", address: address, patience: 5 * time.Second,
		exits: []int{1}, // older servers exit with 1 on SIGTERM
	}
	if s.speaks(natsStored...) {
		config = append(config, Setting{"jetstream", fmt.Sprintf("{ store_dir: %q }", s.dir), asWritten})
	}
	secret, err := s.natsTLS()
	if err != nil {
		return nil, err
	}
	if secret != "" {
		p.scheme = "tls"
		config = append(config, Setting{"tls", secret, asWritten})
	}
	if s.speaks(natsMQTT) {
		port, err := s.port()
		if err != nil {
			return nil, err
		}
		l := endpoint{s.scheme(natsMQTT), net.JoinHostPort(loopback, port)}
		p.also = append(p.also, l)
		listener := fmt.Sprintf("{ listen: %q }", l.Address)
		if secret != "" {
			listener = fmt.Sprintf("{ listen: %q, tls: %s }", l.Address, secret)
		}
		config = append(config,
			Setting{"server_name", natsName, asWritten}, // which MQTT demands
			Setting{"mqtt", listener, asWritten})
	}
	if s.variant == Tuned {
		p.env = []string{goGC}
		p.config = []Setting{goGCSetting}
	}
	path, err := s.file("nats.conf", lines(config, ": "))
	if err != nil {
		return nil, err
	}
	p.args = []string{"-c", path}
	p.readBack = func(ctx context.Context) (*report, error) { return readVarz(ctx, s.place, monitoring) }
	return p, nil
}

// natsTLS is the block that makes a listener one for TLS; "" = it is not to be. A client has a minute for its handshake, which over a slow
// link takes longer than the two seconds that the server grants by itself.
func (s *site) natsTLS() (string, error) {
	if !s.tls {
		return "", nil
	}
	cert, key, err := s.certificate()
	return fmt.Sprintf("{ cert_file: %q, key_file: %q, timeout: 60 }", cert, key), err
}

// natsOptions are the settings besides the listeners and JetStream.
func natsOptions(s *site) (config []Setting) {
	if s.maxMessage > server.MAX_PAYLOAD_SIZE {
		config = append(config, Setting{"max_payload", strconv.Itoa(s.maxMessage), asWritten})
	}
	if s.variant == Tuned {
		config = append(config,
			Setting{"max_pending", strconv.Itoa(natsTunedPending), asWritten},
			Setting{"write_deadline", strconv.Quote(natsTunedDeadline.String()), asWritten},
		)
	}
	return config
}

// readVarz asks a server's monitoring for the configuration in force.
func readVarz(ctx context.Context, place netns.Place, address string) (*report, error) {
	client := http.Client{Transport: &http.Transport{DialContext: place.Dial, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/varz", nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/varz answers %s", resp.Status)
	}
	var v server.Varz
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return nil, err
	}
	return reportVarz(&v), nil
}

// reportVarz picks what matters from a NATS server's description of itself.
func reportVarz(v *server.Varz) *report {
	r := &report{Version: v.Version, Limits: map[string]int64{
		"max_payload_bytes": int64(v.MaxPayload),
		"max_pending_bytes": v.MaxPending,
		"max_connections":   int64(v.MaxConn),
	}}
	for _, c := range []struct {
		key   string
		value any
	}{
		{"listen", net.JoinHostPort(v.Host, strconv.Itoa(v.Port))},
		{"max_payload", v.MaxPayload},
		{"max_pending", v.MaxPending},
		{"max_connections", v.MaxConn},
		{"max_control_line", v.MaxControlLine},
		{"write_deadline", v.WriteDeadline},
		{"ping_interval", v.PingInterval},
		{"ping_max", v.MaxPingsOut},
		{"auth_required", v.AuthRequired},
		{"tls_required", v.TLSRequired},
		{"jetstream", v.JetStream.Config != nil},
		{"gomaxprocs", v.MaxProcs},
		{"go", v.GoVersion},
	} {
		r.Config = append(r.Config, Setting{c.key, fmt.Sprint(c.value), effective})
	}
	return r
}

// serveNATS runs the embedded server. Beside the process it differs in that it has no monitoring listener and no log.
func serveNATS(c *childConfig) (*report, func(), error) {
	o := &server.Options{Host: loopback, Port: cmp.Or(c.port(0), server.RANDOM_PORT), NoLog: true, NoSigs: true}
	if common(natsStored, c.Protocols) {
		o.JetStream, o.StoreDir = true, c.Dir
	}
	mqtt := slices.Contains(c.Protocols, natsMQTT)
	if mqtt {
		o.ServerName, o.MQTT.Host, o.MQTT.Port = natsName, loopback, cmp.Or(c.port(1), server.RANDOM_PORT)
	}
	switch {
	case c.MaxMessageBytes > math.MaxInt32:
		return nil, nil, fmt.Errorf("a payload of %d bytes is more than nats-server can be configured for", c.MaxMessageBytes)
	case c.MaxMessageBytes > server.MAX_PAYLOAD_SIZE:
		o.MaxPayload = int32(c.MaxMessageBytes)
	}
	if c.Variant == Tuned {
		o.MaxPending, o.WriteDeadline = natsTunedPending, natsTunedDeadline
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, nil, err
	}
	s.Start()
	stop := func() { s.Shutdown(); s.WaitForShutdown() }
	if !s.ReadyForConnections(5 * time.Second) {
		stop()
		return nil, nil, fmt.Errorf("nats-server does not listen on %s", loopback)
	}
	v, err := s.Varz(nil)
	if err != nil {
		stop()
		return nil, nil, err
	}
	r := reportVarz(v)
	r.Address = s.Addr().String()
	r.Version = embeddedNATSVersion()
	if mqtt {
		r.Also = append(r.Also, endpoint{"mqtt", net.JoinHostPort(loopback, strconv.Itoa(o.MQTT.Port))})
	}
	return r, stop, nil
}

func embeddedNATSVersion() string {
	return moduleVersion("github.com/nats-io/nats-server/v2", server.VERSION)
}
