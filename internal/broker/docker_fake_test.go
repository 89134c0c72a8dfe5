package broker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fakeEngine is a Docker engine that runs nothing: it notes what it is asked, and can fail at each step. What answers at
// the published port is up to the test.
type fakeEngine struct {
	t      *testing.T
	socket string

	mu       sync.Mutex
	requests []string          // method and path, in order, without the version
	bodies   map[string][]byte // by request
	ended    chan struct{}     // closed when the container has ended

	// How it behaves.
	hasImage     bool
	pull         string // the answer to a pull
	createFails  string
	startFails   []string       // one for each start; "" = it succeeds
	ports        map[int]string // of the container → where they are published; "" = not
	state        map[string]any // of the container once it has ended
	code         int            // its exit code
	logs         string
	host         func(asked map[string]any) map[string]any // HostConfig in force; nil = what was asked
	endsAtOnce   bool
	left         []map[string]any // containers that are there already
	asked        map[string]any   // HostConfig
	ignoresTerms bool
}

func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	f := &fakeEngine{
		t: t, socket: filepath.Join(t.TempDir(), "docker.sock"), bodies: map[string][]byte{}, ended: make(chan struct{}),
		hasImage: true, ports: map[int]string{}, state: map[string]any{},
	}
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() {
		f.end(0, nil)
		_ = server.Close()
		<-done
	})
	t.Setenv("DOCKER_HOST", "unix://"+f.socket)
	return f
}

// end lets the container end.
func (f *fakeEngine) end(code int, state map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ended:
		return
	default:
	}
	f.code = code
	for k, v := range state {
		f.state[k] = v
	}
	close(f.ended)
}

// running is closed when the container that there is now has ended.
func (f *fakeEngine) running() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// next is closed at the next end: of what runs, or of what is about to be started again.
func (f *fakeEngine) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ended:
		f.ended = make(chan struct{})
	default:
	}
	return f.ended
}

func (f *fakeEngine) note(r *http.Request) string {
	path := r.URL.Path
	if strings.HasPrefix(path, "/v1.") {
		path = "/" + strings.SplitN(path, "/", 3)[2]
	}
	what := r.Method + " " + path
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	shown := what
	if q := r.URL.RawQuery; q != "" {
		shown += "?" + q
	}
	f.requests = append(f.requests, shown)
	f.bodies[what] = body
	return what
}

// count tells how many requests began so.
func (f *fakeEngine) count(prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func fail(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := f.note(r)
	method, path, _ := strings.Cut(what, " ")
	switch {
	case path == "/_ping":
		w.Header().Set("Api-Version", "1.43")
		_, _ = io.WriteString(w, "OK")
	case path == "/containers/json":
		answer(w, append([]map[string]any{}, f.left...))
	case strings.HasPrefix(path, "/images/") && strings.HasSuffix(path, "/json"):
		if !f.hasImage {
			fail(w, http.StatusNotFound, "No such image")
			return
		}
		answer(w, map[string]any{"Id": "sha256:abc"})
	case path == "/images/create":
		_, _ = io.WriteString(w, f.pull)
	case path == "/containers/create":
		f.create(w)
	case method == http.MethodDelete:
		f.end(137, nil)
		w.WriteHeader(http.StatusNoContent)
	default:
		f.container(w, r, path[strings.LastIndexByte(path, '/')+1:])
	}
}

func (f *fakeEngine) create(w http.ResponseWriter) {
	if f.createFails != "" {
		fail(w, http.StatusBadRequest, f.createFails)
		return
	}
	f.mu.Lock()
	var asked map[string]any
	_ = json.Unmarshal(f.bodies["POST /containers/create"], &asked)
	f.asked, _ = asked["HostConfig"].(map[string]any)
	f.ended = make(chan struct{})
	f.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	answer(w, map[string]any{"Id": "f00d", "Warnings": []string{}})
}

// container answers what is asked of the container.
func (f *fakeEngine) container(w http.ResponseWriter, r *http.Request, verb string) {
	switch verb {
	case "start":
		f.start(w)
	case "wait":
		ended := f.next()
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		select {
		case <-ended:
			answer(w, map[string]any{"StatusCode": f.code})
		case <-r.Context().Done():
		}
	case "logs":
		ended := f.running()
		header := make([]byte, 8)
		header[0] = 2 // stderr
		binary.BigEndian.PutUint32(header[4:], uint32(len(f.logs)))
		_, _ = w.Write(append(header, f.logs...))
		w.(http.Flusher).Flush()
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	case "json":
		answer(w, f.inspect())
	case "kill":
		w.WriteHeader(http.StatusNoContent)
		if !f.ignoresTerms {
			f.end(143, nil)
		}
	case "pause", "unpause":
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusNotImplemented, "not done by the fake: "+verb)
	}
}

func (f *fakeEngine) start(w http.ResponseWriter) {
	if len(f.startFails) > 0 {
		text := f.startFails[0]
		f.startFails = f.startFails[1:]
		if text != "" {
			fail(w, http.StatusInternalServerError, text)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
	if f.endsAtOnce {
		f.end(f.code, nil)
	}
}

func (f *fakeEngine) inspect() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	running := true
	select {
	case <-f.ended:
		running = false
	default:
	}
	state := map[string]any{"Running": running, "Pid": 4194304} // above every pid of this host
	for k, v := range f.state {
		state[k] = v
	}
	ports := map[string]any{}
	for inside, at := range f.ports {
		if host, port, err := net.SplitHostPort(at); err == nil && running {
			ports[fmt.Sprintf("%d/tcp", inside)] = []map[string]string{{"HostIp": host, "HostPort": port}}
		}
	}
	host := f.asked
	if f.host != nil {
		host = f.host(f.asked)
	}
	return map[string]any{
		"Id": "f00d", "Image": "sha256:abc", "State": state, "HostConfig": host,
		"Config":          map[string]any{"Labels": map[string]string{"org.opencontainers.image.version": "9.8.7"}},
		"NetworkSettings": map[string]any{"Ports": ports},
	}
}
