package amqp10

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestSmoke(t *testing.T) {
	for _, cfg := range []*Config{
		{Target: Terminus{Address: "x"}, Source: Terminus{Address: "{topic}"}, SenderFirst: true},
		{Target: Terminus{Address: "{topic}"}, Source: Terminus{Address: "{topic}"}},
		{Target: Terminus{Address: "/queues/{topic}"}, Anonymous: true, Source: Terminus{Address: "{topic}"}},
	} {
		p := connect(t, cfg, &ServerConfig{})
		p.subscribe(t, proto.Subscription{Token: 7, Topic: "a.b", QoS: 1})
		at, ac := p.exchange(t, p.publish(t, 1, 5))
		t.Logf("%+v %+v", at, ac)
		down, err := p.server.Publish(&proto.Message{Sub: at[0].Token + 1, Topic: []byte("t"), Payload: []byte("p"), QoS: 1, Token: 3}, nil)
		t.Logf("%x %v", down, err)
	}
}
