package guard

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// engine notes what a Docker engine is asked, and answers with a status.
func engine(t *testing.T, status int) (socket string, requests func() []string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.String())
		w.WriteHeader(status)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return socket, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func TestContainersAreRemovedWithUs(t *testing.T) {
	socket, requests := engine(t, http.StatusNoContent)
	g := start(t)
	g.TrackContainer(Container{socket, "mqlab-a"})
	g.TrackContainer(Container{socket, "mqlab-b"})
	if err := g.RemoveContainer(Container{socket, "mqlab-a"}); err != nil {
		t.Error(err)
	}
	if want := []string{"DELETE /containers/mqlab-a?force=true&v=true"}; !slices.Equal(requests(), want) {
		t.Errorf("asked for %q", requests())
	}
	// What is left is removed by the guard process, as after our death.
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if got := requests(); len(got) != 2 || got[1] != "DELETE /containers/mqlab-b?force=true&v=true" {
		t.Errorf("asked for %q", got)
	}
}

func TestContainersThatCannotBeRemoved(t *testing.T) {
	for status, want := range map[int]string{http.StatusNotFound: "", http.StatusConflict: "", http.StatusInternalServerError: "remove container x: 500"} {
		socket, _ := engine(t, status)
		if err := (Container{socket, "x"}).remove(); err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%d: %v", status, err)
		}
	}
	if err := (Container{"/nowhere/docker.sock", "x"}).remove(); err != nil {
		t.Errorf("an engine that is gone: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	if Gone(Identity()) {
		t.Error("we are not gone")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []string{"", "?", host, host + " 1 0", "elsewhere-" + host + " 4194304 5", host + " x 5"} {
		if Gone(unknown) {
			t.Errorf("%q is not known to be gone", unknown)
		}
	}
}
