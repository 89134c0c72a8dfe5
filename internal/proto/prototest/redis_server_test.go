package prototest_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// TestRedisServer runs the suite against the server side of our own sessions.
func TestRedisServer(t *testing.T) {
	t.Parallel()
	guarded := &resp.ServerConfig{User: prototest.User, Password: prototest.Password, MaxPayload: redisGuardedPayload - 1}
	runPubSub(t, &prototest.Broker{
		Name: "lab", Addr: serveRedis(t, &resp.ServerConfig{}), Guarded: serveRedis(t, guarded),
		GuardedMaxPayload: redisGuardedPayload,
	})
}

// TestRedisServerOld: a server that knows no HELLO is spoken to with RESP2.
func TestRedisServerOld(t *testing.T) {
	t.Parallel()
	cfg := &resp.ServerConfig{RESP2: true}
	prototest.Run(t, pubSubProtocol(false), &prototest.Broker{Name: "old", Addr: serveRedis(t, cfg)})
}

func serveRedis(t *testing.T, cfg *resp.ServerConfig) string {
	t.Helper()
	router := prototest.Router{
		Open: func() proto.Server { return resp.NewServer(cfg) },
		Match: func(s proto.Server, i *prototest.Interest, topic []byte) bool {
			return s.(*resp.Server).Matches(i.Token, topic)
		},
	}
	return router.Serve(t)
}
