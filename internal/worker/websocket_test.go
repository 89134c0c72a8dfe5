package worker

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gorilla "github.com/gorilla/websocket"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// bridged serves WebSockets at /mqtt whose bytes go to and come from an address.
func bridged(t *testing.T, addr string) http.Handler {
	upgrader := gorilla.Upgrader{Subprotocols: []string{"mqtt"}}
	serve := func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = ws.Close() }()
		broker, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = broker.Close() }()
		go func() {
			buf := make([]byte, 4096)
			for n, err := broker.Read(buf); err == nil; n, err = broker.Read(buf) {
				_ = ws.WriteMessage(gorilla.BinaryMessage, buf[:n])
			}
			_ = ws.Close()
		}()
		for _, frame, err := ws.NextReader(); err == nil; _, frame, err = ws.NextReader() {
			_, _ = io.Copy(broker, frame)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mqtt", serve)
	return mux
}

// TestWebSocket: plain and within TLS everything is delivered; a wrong path is named.
func TestWebSocket(t *testing.T) {
	broker := strings.TrimPrefix(brokerOf(t, faulty.Plan{}), "mqtt://")
	plain, secure := httptest.NewServer(bridged(t, broker)), httptest.NewTLSServer(bridged(t, broker))
	defer plain.Close()
	defer secure.Close()
	for _, url := range []string{"ws://" + plain.Listener.Addr().String(), "wss://" + secure.Listener.Addr().String() + "/mqtt"} {
		trial := trialOf(func(p *plan.Params) { p.QoS, p.Window = 1, 50 })
		trial.Subject.Protocol = plan.MQTT311WS
		trial.Subject.TLS.SkipVerify = true
		counts := carryOut(t, plan.PatternPairs, Whole(3, trial, url))
		if counts.Expected == 0 || counts.Delivered+counts.Lost+counts.UndeliveredUnsent != counts.Expected || counts.Delivered == 0 || counts.Lost > 0 {
			t.Errorf("%s: %+v", url, counts)
		}
	}
	w, err := NewLocal(Whole(3, trialOf(nil), "ws://"+plain.Listener.Addr().String()+"/elsewhere"), Credentials{}, netns.Host, Sink{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if err := w.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing is served at /elsewhere") {
		t.Error(err)
	}
}
