package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/emulate"
)

// open is a gateway whose link has a loss that can be changed.
func open(t *testing.T) (api string) {
	t.Helper()
	figures := func(changes map[string]string) (link.Profile, error) {
		p := link.Profile{Name: "test", Up: link.Params{Delay: time.Millisecond}}
		for key, value := range changes {
			switch key + "=" + value {
			case "loss=10%":
				p.Up.Loss = 0.1
			case "delay=5ms":
				p.Up.Delay = 5 * time.Millisecond
			case "loss=200%":
				p.Up.Loss = 2
			default:
				return p, errors.New(key + ": unknown key")
			}
		}
		return p, nil
	}
	n, _, err := emulate.Open(t.Context(), emulate.Options{Backend: emulate.Netstack})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(n, figures)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// ask sends a request and returns the state, or the one line that says what is wrong with it.
func ask(t *testing.T, method, url, body string) (s State, complaint string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		return s, strings.TrimSuffix(string(text), "\n")
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s, ""
}

// TestAPI: changes add up; a bad one changes nothing and is told in one line.
func TestAPI(t *testing.T) {
	api := open(t)
	if s, _ := ask(t, "GET", api, ""); s.Profile.Up != (link.Params{Delay: time.Millisecond}) || s.Cut || s.Up != nil {
		t.Errorf("at first: %+v", s)
	}
	if s, complaint := ask(t, "POST", api+"/set", "loss=10%"); s.Profile.Up.Loss != 0.1 {
		t.Errorf("after a change: %+v %s", s, complaint)
	}
	if s, complaint := ask(t, "POST", api+"/set", "delay=5ms&loss=10%25"); s.Profile.Up != (link.Params{Delay: 5 * time.Millisecond, Loss: 0.1}) {
		t.Errorf("after two: %+v %s", s, complaint)
	}
	for body, want := range map[string]string{
		"speed=1": "speed: unknown key", "loss=200%": "up: loss is 2", "": "send a form", "loss": "send a form", "=1": "send a form",
	} {
		if _, complaint := ask(t, "POST", api+"/set", body); !strings.HasPrefix(complaint, want) || strings.Contains(complaint, "\n") {
			t.Errorf("%q: %q, want %q", body, complaint, want)
		}
	}
	if s, _ := ask(t, "POST", api+"/cut", ""); !s.Cut || s.Profile.Up.Loss != 0.1 {
		t.Errorf("cut: %+v", s)
	}
	if s, _ := ask(t, "POST", api+"/mend", ""); s.Cut {
		t.Errorf("mended: %+v", s)
	}
	for _, c := range []struct{ method, path, want string }{{"GET", "/set", "Method Not Allowed"}, {"GET", "/loss", "404"}} {
		if _, complaint := ask(t, c.method, api+c.path, ""); !strings.Contains(complaint, c.want) {
			t.Errorf("%s %s: %q", c.method, c.path, complaint)
		}
	}
}
