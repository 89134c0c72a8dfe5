// Package gateway is a link that stands by itself: whoever connects to one address reaches another over it. A small HTTP API
// changes it while it is open.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/splice"
)

// Gateway is an open link with a listener.
type Gateway struct {
	network emulate.Network
	figures func(changes map[string]string) (link.Profile, error)

	mu      sync.Mutex
	profile link.Profile
	changes map[string]string
	cut     bool
}

// New stands a link up. Figures returns the link's profile with some of its figures replaced, by key and value as in the section
// network of a scenario.
func New(n emulate.Network, figures func(changes map[string]string) (link.Profile, error)) (*Gateway, error) {
	p, err := figures(nil)
	if err != nil {
		return nil, err
	}
	return &Gateway{network: n, figures: figures, profile: p, changes: map[string]string{}}, nil
}

// Relay joins each connection that l accepts with one to an address over the link, until ctx ends. Failed is told why one could not be
// made. It owns l.
func (g *Gateway) Relay(ctx context.Context, l net.Listener, to string, failed func(error)) error {
	return splice.Relay(ctx, l, func(ctx context.Context) (net.Conn, error) {
		return g.network.Device().Dial(ctx, "tcp", to)
	}, failed)
}

// State is what the API tells.
type State struct {
	Profile link.Profile   `json:"profile"`
	Cut     bool           `json:"cut"` // nothing gets through
	Up      *link.Counters `json:"up,omitempty"`
	Down    *link.Counters `json:"down,omitempty"` // absent, both: the backend does not count
	Facts   link.Facts     `json:"facts"`
}

// State is the link as it is now.
func (g *Gateway) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := State{Profile: g.profile, Cut: g.cut, Facts: g.network.Facts()}
	if up, down := g.network.Counters(); up.Offered.Packets+down.Offered.Packets > 0 {
		s.Up, s.Down = &up, &down
	}
	return s
}

// Handler is the API:
//
//	GET /         the link as it is now: figures, counters
//	POST /set     replaces figures, given as a form: loss=10%, up.rate=64kbit/s
//	POST /cut     nothing gets through any more, without a word
//	POST /mend    it does again
//
// Each answers with the State afterwards. A bad request changes nothing and gets one line that says what is wrong.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, do func(*http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			_ = e.Encode(g.State()) // whoever asks may hang up
		})
	}
	answer("GET /{$}", func(*http.Request) error { return nil })
	answer("POST /set", g.set)
	answer("POST /cut", func(*http.Request) error { return g.down(true) })
	answer("POST /mend", func(*http.Request) error { return g.down(false) })
	return mux
}

// set replaces figures, all or none.
func (g *Gateway) set(r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
	if err != nil {
		return err
	}
	wanted, err := form(string(body))
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	changes := maps.Clone(g.changes)
	maps.Copy(changes, wanted)
	p, err := g.figures(changes)
	if err != nil {
		return err
	}
	if err := g.network.Change(p.Up, p.Down); err != nil {
		return err
	}
	g.profile, g.changes = p, changes
	return nil
}

// maxForm bounds a request, in bytes.
const maxForm = 64 << 10

// form reads key=value&key=value. A percent sign that escapes nothing is one: loss=10% is what people write.
func form(text string) (map[string]string, error) {
	values := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSpace(text), "&") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, errors.New("send a form of figures, for example loss=10% or up.rate=64kbit/s")
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		values[key] = value
	}
	return values, nil
}

func (g *Gateway) down(cut bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.network.Down(cut); err != nil {
		return err
	}
	g.cut = cut
	return nil
}
