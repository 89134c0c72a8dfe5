package prototest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// TestJetStreamRefusals: what the server does not do, in words.
func TestJetStreamRefusals(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		refusal := func(addr string, stream nats.Stream) string {
			t.Helper()
			c, err := prototest.Dial(addr, nats.NewJetStream(&nats.Config{}, &stream, "me"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Abort() }()
			_, err = c.Next(patience)
			return fmt.Sprint(err)
		}
		if got := refusal(start(t, ""), labStream("file")); !strings.Contains(got, "JetStream off") {
			t.Errorf("without JetStream: %s", got)
		}
		addr := start(t, jetstreamOn(t))
		p := dialJetStream(t, addr, labStream("file"), "first")
		other := labStream("file")
		other.Name = "other"
		if got := refusal(addr, other); !strings.Contains(got, "overlap") {
			t.Errorf("the same subjects: %s", got)
		}
		p.publish("unheard.of", nil, 1, 4)
		ev, err := p.Next(patience)
		if err != nil || ev.Kind != proto.Acked || ev.Token != 4 || ev.Err == nil || !strings.Contains(ev.Err.Error(), "no stream takes") {
			t.Errorf("got %+v, %v", ev, err)
		}
		ctx, library := libraryJetStream(t, addr)
		if err := library.DeleteStream(ctx, "lab-file"); err != nil {
			t.Fatal(err)
		}
		p.publish("file.x", nil, 1, 5)
		if ev, err = p.Next(patience); err != nil || ev.Token != 5 || ev.Err == nil {
			t.Errorf("got %+v, %v", ev, err)
		}
		sub := dialJetStream(t, addr, labStream("file"), "sub")
		sub.subscribe(proto.Subscription{Token: 1, Topic: "file.x", QoS: 1})
		info := until(ctx, t, library, "lab-file", func(*jetstream.ConsumerInfo) bool { return true })
		if err := library.DeleteConsumer(ctx, "lab-file", info.Name); err != nil {
			t.Fatal(err)
		}
		if ev, err = sub.Next(patience); err != nil || ev.Err == nil {
			t.Errorf("a consumer that is deleted reports %+v, %v", ev, err)
		}
	})
}

// TestJetStreamDeletesItsStream: Close deletes the stream where that was asked for.
func TestJetStreamDeletesItsStream(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, jetstreamOn(t))
		stream := labStream(nats.StorageFile)
		stream.Delete = true
		if err := dialJetStream(t, addr, stream, "me").Goodbye(); err != nil {
			t.Fatal(err)
		}
		ctx, library := libraryJetStream(t, addr)
		retry := time.NewTicker(5 * time.Millisecond)
		defer retry.Stop()
		for {
			_, err := library.Stream(ctx, stream.Name)
			if err == jetstream.ErrStreamNotFound {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			<-retry.C
		}
	})
}
