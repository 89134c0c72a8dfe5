package prototest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	amqpgo "github.com/rabbitmq/amqp091-go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// TestAMQP091Server runs the suite against the server side of our own sessions.
func TestAMQP091Server(t *testing.T) {
	t.Parallel()
	guarded := &amqp091.ServerConfig{User: prototest.User, Password: prototest.Password, MaxMessage: guardedPayload - 1}
	settings := topics()
	settings.User, settings.Password = "", ""
	prototest.Run(t, amqp091Protocol(settings), &prototest.Broker{
		Name: "lab", Addr: serveAMQP091(t, &amqp091.ServerConfig{ConfirmEvery: 8}),
		Guarded: serveAMQP091(t, guarded), GuardedMaxPayload: guardedPayload,
	})
}

// TestAMQP091ServerWithLibrary: amqp091-go is content with the server side of our sessions.
func TestAMQP091ServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveAMQP091(t, &amqp091.ServerConfig{User: "guest", Password: "guest", FrameMax: 5000, ConfirmEvery: 3})
	_, err := amqpgo.Dial("amqp://guest:guess@" + addr + "/")
	var refused *amqpgo.Error
	if !errors.As(err, &refused) || refused.Code != amqpgo.AccessRefused {
		t.Errorf("a wrong password: %v", err)
	}
	subscriber, publisher := libraryAMQP091(t, addr), libraryAMQP091(t, addr)
	if err := subscriber.Qos(5, 0, false); err != nil {
		t.Fatal(err)
	}
	deliveries := libraryQueue(t, subscriber, "amq.topic", "lab.*", false)
	unacknowledged := libraryQueue(t, subscriber, "amq.topic", "lab.#", true)
	if err := publisher.Confirm(false); err != nil {
		t.Fatal(err)
	}
	for i, size := range amqp091Sizes {
		libraryPublish(t, publisher, "amq.topic", fmt.Sprintf("lab.%d", i), prototest.Pattern(size))
		for _, d := range []<-chan amqpgo.Delivery{deliveries, unacknowledged} {
			m := received(t, d)
			if m.RoutingKey != fmt.Sprintf("lab.%d", i) || !slices.Equal(m.Body, prototest.Pattern(size)) {
				t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(m.Body), m.RoutingKey)
			}
			if d == deliveries {
				if err := m.Ack(i%3 == 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := subscriber.Close(); err != nil {
		t.Error(err)
	}
}

// serveAMQP091 starts a router. A group is a queue that several consumers share.
func serveAMQP091(t *testing.T, cfg *amqp091.ServerConfig) string {
	t.Helper()
	router := prototest.Router{
		Open:     func() proto.Server { return amqp091.NewServer(cfg) },
		Match:    func(_ proto.Server, i *prototest.Interest, topic []byte) bool { return amqp091.Match(i.Pattern, topic) },
		Interest: func(s proto.Server, i *prototest.Interest) { i.Group = s.(*amqp091.Server).Group(i.Token) },
		Full:     amqp091.ErrNoRoom,
	}
	return router.Serve(t)
}
