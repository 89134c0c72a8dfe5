// Package toxiproxy makes a link out of a Toxiproxy that runs already, by its HTTP API (version 2). It can delay and stall; what it
// offers beyond that is of each connection by itself and no property of a link, so it is refused.
//
// Proxies are made for each address that is dialled, and are deleted by Close. They belong to the Toxiproxy, not to this process: after
// a kill -9 they stay, and the next link to the same address replaces them.
package toxiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
)

// DefaultAPI is where a Toxiproxy listens for commands unless it is told otherwise.
const DefaultAPI = "http://127.0.0.1:8474"

// prefix begins the names of the proxies that are ours.
const prefix = "mqlab-"

// stallFor is longer than any stall.
const stallFor = 365 * 24 * time.Hour

// patience bounds one request.
const patience = 5 * time.Second

// Network is an open link.
type Network struct {
	api  string
	host string // of the proxies
	http http.Client

	mu       sync.Mutex
	up, down link.Params
	stalled  bool
	closed   bool
	proxies  map[string]proxy // by the address that was dialled
	version  string
}

// proxy is one as the API has it.
type proxy struct {
	Name     string `json:"name"`
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
	Enabled  bool   `json:"enabled"`
}

// toxic is one as the API has it.
type toxic struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Stream     string           `json:"stream"`
	Toxicity   float64          `json:"toxicity"`
	Attributes map[string]int64 `json:"attributes"`
}

// Open makes a link as c says, through the Toxiproxy whose API is at this URL; "" = DefaultAPI. It is to be closed.
func Open(ctx context.Context, c link.Config, api string) (*Network, error) {
	if api == "" {
		api = DefaultAPI
	}
	u, err := url.Parse(api)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is no URL of an HTTP API, such as %s", api, DefaultAPI)
	}
	if c.CongestionControl != "" {
		return nil, errors.New("congestion control: backend toxiproxy does not have TCP of its own; use backend tun or netstack")
	}
	if err := check(c.Profile.Up, c.Profile.Down); err != nil {
		return nil, err
	}
	n := &Network{
		api: strings.TrimSuffix(api, "/"), host: u.Hostname(), up: c.Profile.Up, down: c.Profile.Down,
		proxies: map[string]proxy{}, http: http.Client{Timeout: patience},
	}
	if n.version, err = n.ask(ctx, http.MethodGet, "/version", nil, nil); err != nil {
		return nil, fmt.Errorf("no Toxiproxy answers at %s: %w", api, err)
	}
	return n, nil
}

// check says which option cannot be honoured.
func check(up, down link.Params) error {
	for d, p := range []link.Params{up, down} {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("%s: %w", link.Direction(d), err)
		}
		if err := link.RefusedByStreams(link.StreamToxiproxy, link.Direction(d), p); err != nil {
			return err
		}
	}
	return nil
}

// ask carries out one request and returns the answer's text, decoded into answer if that is not nil.
func (n *Network) ask(ctx context.Context, method, path string, body, answer any) (string, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, n.api+path, content)
	if err != nil {
		return "", err
	}
	r.Header.Set("User-Agent", "mqlab")
	response, err := n.http.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return "", err
	case response.StatusCode/100 != 2:
		return "", &statusError{response.StatusCode, method + " " + path, string(bytes.TrimSpace(text))}
	case answer != nil:
		if err := json.Unmarshal(text, answer); err != nil {
			return "", fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	return string(bytes.TrimSpace(text)), nil
}

// statusError is an answer that tells of no success.
type statusError struct {
	code    int
	request string
	text    string
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: %d %.200s", e.request, e.code, e.text) }

func missing(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusNotFound
}

// Device is where clients live.
func (n *Network) Device() netns.Place { return devices{n} }

// Broker is where brokers live: this host.
func (*Network) Broker() netns.Place { return netns.Host }

// devices is where clients live.
type devices struct{ network *Network }

// Dial implements netns.Place for tcp: it connects to a proxy in front of addr.
func (d devices) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, net.UnknownNetworkError(network)
	}
	p, err := d.network.before(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("backend toxiproxy: %w", err)
	}
	_, port, err := net.SplitHostPort(p.Listen)
	if err != nil {
		return nil, fmt.Errorf("backend toxiproxy: the proxy listens at %q: %w", p.Listen, err)
	}
	return netns.Host.Dial(ctx, network, net.JoinHostPort(d.network.host, port))
}

// errNoListener and errNoProgram are limits of this backend.
var (
	errNoListener = errors.New("backend toxiproxy: nothing can listen on the side of the devices; use backend tun")
	errNoProgram  = errors.New("backend toxiproxy: other programs cannot run behind the link; let them connect to mqlab link up, or use backend tun")
)

// Listen implements netns.Place: it is an error always.
func (devices) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, errNoListener
}

// Command implements netns.Place: starting the command is an error always.
func (devices) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Err = errNoProgram
	return c
}

// before returns the proxy in front of addr, and makes it first if need be.
func (n *Network) before(ctx context.Context, addr string) (proxy, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ok := n.proxies[addr]; ok {
		return p, nil
	}
	if n.closed {
		return proxy{}, net.ErrClosed
	}
	p := proxy{Name: prefix + strings.NewReplacer(":", "-", "[", "", "]", "").Replace(addr), Listen: net.JoinHostPort(n.host, "0"), Upstream: addr, Enabled: true}
	if _, err := n.ask(ctx, http.MethodDelete, "/proxies/"+url.PathEscape(p.Name), nil, nil); err != nil && !missing(err) {
		return p, err
	}
	if _, err := n.ask(ctx, http.MethodPost, "/proxies", p, &p); err != nil {
		return p, err
	}
	n.proxies[addr] = p
	return p, n.poison(ctx, p)
}

// poison adds the toxics of both directions.
func (n *Network) poison(ctx context.Context, p proxy) error {
	for _, t := range n.toxics() {
		path := "/proxies/" + url.PathEscape(p.Name) + "/toxics"
		if _, err := n.ask(ctx, http.MethodDelete, path+"/"+t.Name, nil, nil); err != nil && !missing(err) {
			return err
		}
		if t.Type == "" {
			continue
		}
		if _, err := n.ask(ctx, http.MethodPost, path, t, nil); err != nil {
			return err
		}
	}
	return nil
}

// toxics are those of every proxy now; one without a type is not to be there.
func (n *Network) toxics() []toxic {
	var list []toxic
	for _, d := range []struct {
		stream string
		p      link.Params
	}{{"upstream", n.up}, {"downstream", n.down}} {
		delay, stall := toxic{Name: prefix + d.stream + "-delay"}, toxic{Name: prefix + d.stream + "-stall"}
		if d.p.Delay > 0 || d.p.Jitter > 0 {
			delay.Type, delay.Stream, delay.Toxicity = "latency", d.stream, 1
			delay.Attributes = map[string]int64{"latency": d.p.Delay.Milliseconds(), "jitter": d.p.Jitter.Milliseconds()}
		}
		if n.stalled { // the toxic "timeout" would drop bytes out of the middle of a stream
			stall.Type, stall.Stream, stall.Toxicity, stall.Attributes = "latency", d.stream, 1, map[string]int64{"latency": stallFor.Milliseconds(), "jitter": 0}
		}
		list = append(list, delay, stall)
	}
	return list
}

// repoison brings every proxy up to date.
func (n *Network) repoison() error {
	var errs []error
	for _, p := range n.proxies {
		errs = append(errs, n.poison(context.Background(), p))
	}
	return errors.Join(errs...)
}

// Change sets the properties of both directions from now on.
func (n *Network) Change(up, down link.Params) error {
	if err := check(up, down); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up, n.down = up, down
	return n.repoison()
}

// Down begins or ends a stall: what is sent arrives when it is over, as TCP would have sent it again. Unlike in an outage of a link,
// new connections are taken meanwhile.
func (n *Network) Down(down bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stalled = down
	return n.repoison()
}

// Counters are zero: a Toxiproxy counts no packets.
func (*Network) Counters() (up, down link.Counters) { return up, down }

// Facts are what is known about this link's emulation.
func (n *Network) Facts() link.Facts {
	return link.Facts{Backend: "toxiproxy", Why: []string{
		"Toxiproxy " + n.version + " at " + n.api,
		"it carries streams: no packet is lost or counted, connecting is not delayed, and TCP never meets the link",
	}}
}

// Close deletes the proxies, which ends their connections.
func (n *Network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	var errs []error
	for addr, p := range n.proxies {
		if _, err := n.ask(context.Background(), http.MethodDelete, "/proxies/"+url.PathEscape(p.Name), nil, nil); err != nil && !missing(err) {
			errs = append(errs, err)
		}
		delete(n.proxies, addr)
	}
	return errors.Join(errs...)
}
