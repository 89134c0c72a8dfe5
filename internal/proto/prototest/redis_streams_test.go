package prototest_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

func streamsProtocol(resp2 bool) *prototest.Protocol {
	return &prototest.Protocol{
		Name: "redis-streams",
		NewClient: func(o *prototest.Options) prototest.Client {
			return resp.NewStreams(redisConfig(o, resp2), o.ID)
		},
		Separator: "/",
		QoS:       []uint8{0, 1},
		Lacks:     []prototest.Feature{prototest.Wildcards},
	}
}

func TestRedisStreams(t *testing.T) {
	t.Parallel()
	b := &prototest.Broker{
		Name: "redis-server", Addr: redis(t), Guarded: redis(t, redisGuarded...), GuardedMaxPayload: redisGuardedPayload,
	}
	for name, resp2 := range redisVersions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prototest.Run(t, streamsProtocol(resp2), b)
		})
	}
}
