package toxiproxy

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	server "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/mqlab/mqlab/internal/link"
)

// serve runs a Toxiproxy in this process and returns the URL of its API.
func serve(t *testing.T) string {
	t.Helper()
	s := server.NewServer(server.NewMetricsContainer(nil), zerolog.Nop())
	h := httptest.NewServer(s.Routes())
	t.Cleanup(func() {
		h.Close()
		if err := s.Collection.Clear(); err != nil {
			t.Error(err)
		}
	})
	return h.URL
}

// proxies are the names of those there are.
func proxies(t *testing.T, api string) (names []string) {
	t.Helper()
	r, err := http.Get(api + "/proxies")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	all := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		names = append(names, name)
	}
	return names
}

func echo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	return l.Addr().String()
}

// ask sends a question and returns how long the answer took.
func ask(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := io.WriteString(c, "question"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "question" {
		t.Fatalf("%q came back, %v", b, err)
	}
	return time.Since(start)
}

// TestReal drives a real Toxiproxy: delays both ways, a change, a stall, and nothing left at the end.
func TestReal(t *testing.T) {
	api := serve(t)
	n, err := Open(t.Context(), link.Config{Profile: link.Profile{
		Up: link.Params{Delay: 40 * time.Millisecond, Jitter: 5 * time.Millisecond}, Down: link.Params{Delay: 20 * time.Millisecond},
	}}, api)
	if err != nil {
		t.Fatal(err)
	}
	addr := echo(t)
	c, err := n.Device().Dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if took := ask(t, c); took < 55*time.Millisecond {
		t.Errorf("an answer took %v, less than 35 ms up and 20 ms down", took)
	}
	if err := n.Change(link.Params{Delay: 80 * time.Millisecond}, link.Params{}); err != nil {
		t.Fatal(err)
	}
	if took := ask(t, c); took < 80*time.Millisecond {
		t.Errorf("after the change an answer took %v", took)
	}
	if err := n.Down(true); err != nil {
		t.Fatal(err)
	}
	answered := make(chan time.Duration)
	go func() { answered <- ask(t, c) }()
	select {
	case took := <-answered:
		t.Errorf("an answer came through the stall after %v", took)
	case <-time.After(200 * time.Millisecond):
	}
	if err := n.Down(false); err != nil {
		t.Fatal(err)
	}
	<-answered
	if got := proxies(t, api); len(got) != 1 || !strings.HasPrefix(got[0], prefix) {
		t.Errorf("proxies: %v", got)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if got := proxies(t, api); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
	if facts := n.Facts(); len(facts.Why) == 0 || !strings.Contains(facts.Why[0], api) {
		t.Errorf("facts: %+v", facts)
	}
}

// TestLeftover: what a killed run left in the way is replaced.
func TestLeftover(t *testing.T) {
	api, addr := serve(t), echo(t)
	for range 2 {
		n, err := Open(t.Context(), link.Config{}, api)
		if err != nil {
			t.Fatal(err)
		}
		c, err := n.Device().Dial(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, c)
		_ = c.Close()
	} // none was closed
	if got := proxies(t, api); len(got) != 1 {
		t.Errorf("proxies: %v", got)
	}
}

// TestUnable: what it cannot do is an error that names option and backend.
func TestUnable(t *testing.T) {
	for option, p := range map[string]link.Params{
		"loss": {Loss: 0.1}, "duplicate": {Duplicate: 0.1}, "corrupt": {Corrupt: 0.1}, "rate": {Rate: 8000}, "mode netem": {Mode: link.NetEm},
		"delay": {Delay: time.Microsecond}, "jitter": {Jitter: 1}, "distribution normal": {Distribution: link.Normal},
		"order link": {Order: link.OrderLink}, "correlation": {Correlation: 0.5},
	} {
		_, err := Open(t.Context(), link.Config{Profile: link.Profile{Down: p}}, "")
		if err == nil || !strings.Contains(err.Error(), "option "+option+" (down): backend toxiproxy") {
			t.Errorf("%s: %v", option, err)
		}
	}
}

// TestNoToxiproxy: one line says what is wrong with the API.
func TestNoToxiproxy(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out of order", http.StatusTeapot) }))
	defer broken.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for api, want := range map[string]string{
		"toxiproxy":  `"toxiproxy" is no URL`,
		"ftp://x":    "is no URL",
		gone.URL:     "no Toxiproxy answers at " + gone.URL,
		broken.URL:   "GET /version: 418 out of order",
		"http://[::": "is no URL",
	} {
		if _, err := Open(t.Context(), link.Config{}, api); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", api, err, want)
		}
	}
}
