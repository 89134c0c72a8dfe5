package prototest_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
)

// TestZenohServer runs the suite against the server side of our own sessions, with batches of all sizes.
func TestZenohServer(t *testing.T) {
	t.Parallel()
	guarded := serveZenoh(t, &zenoh.ServerConfig{User: prototest.User, Password: prototest.Password})
	for name, batch := range map[string]int{"small batches": 256, "large batches": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := serveZenoh(t, &zenoh.ServerConfig{Batch: batch})
			prototest.Run(t, zenohProtocol(true, false), &prototest.Broker{Name: "lab", Addr: addr, Guarded: guarded})
		})
	}
}

func serveZenoh(t *testing.T, cfg *zenoh.ServerConfig) string {
	t.Helper()
	router := prototest.Router{
		Open: func() proto.Server { return zenoh.NewServer(cfg, 0x1234567890abcdef) },
		Match: func(s proto.Server, i *prototest.Interest, topic []byte) bool {
			return s.(*zenoh.Server).Matches(i.Token, topic)
		},
	}
	return router.Serve(t)
}

// TestZenohServerWithLibrary: the library is content with the server side of our sessions.
func TestZenohServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveZenoh(t, &zenoh.ServerConfig{User: "u", Password: "p"})
	settings := zenohClient(addr, `transport/auth/usrpwd/user="u"`, `transport/auth/usrpwd/password="p"`)
	libraryHears(t, addr, settings, &zenoh.Config{User: "u", Password: "p"})
	// A declared publisher would send nothing: it asks for subscribers, and a session knows only those of its own peer.
	librarySpeaks(t, addr, settings, &zenoh.Config{User: "u", Password: "p"}, "block", "drop", "background")
}
