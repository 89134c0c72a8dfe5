package prototest_test

import (
	"testing"

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
	prototest.RunSome(t, pubSubProtocol(false), &prototest.Broker{Name: "old", Addr: serveRedis(t, cfg)}, "groups", "mute")
}

func serveRedis(t *testing.T, cfg *resp.ServerConfig) string {
	t.Helper()
	return prototest.Route(t, func() prototest.Routed { return resp.NewServer(cfg) })
}
