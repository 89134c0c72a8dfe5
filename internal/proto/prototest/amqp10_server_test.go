package prototest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	azure "github.com/Azure/go-amqp"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// lab10 are settings for our own server: it routes by subject, and takes "group:pattern" for a shared subscription.
func lab10() amqp10.Config {
	return amqp10.Config{
		SenderFirst: true,
		Target:      amqp10.Terminus{Address: "lab"},
		Source:      amqp10.Terminus{Address: amqp10.TopicHere},
		Shared:      amqp10.Terminus{Address: amqp10.GroupHere + ":" + amqp10.TopicHere},
	}
}

// TestAMQP10Server runs the suite against the server side of our own sessions. It waits for events only, hence needs
// credit for all that it publishes with QoS 0.
func TestAMQP10Server(t *testing.T) {
	t.Parallel()
	guarded := &amqp10.ServerConfig{User: prototest.User, Password: prototest.Password, MaxMessage: guardedPayload - 1}
	prototest.Run(t, amqp10Protocol(lab10(), nil), &prototest.Broker{
		Name: "lab", Addr: serveAMQP10(t, &amqp10.ServerConfig{ConfirmEvery: 8, Credit: 2000, SessionWindow: 3000}),
		Guarded: serveAMQP10(t, guarded), GuardedMaxPayload: guardedPayload,
	})
}

// TestAMQP10ServerWithLibrary: go-amqp is content with the server side of our sessions.
func TestAMQP10ServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveAMQP10(t, &amqp10.ServerConfig{User: "guest", Password: "guest", FrameMax: 5000, ConfirmEvery: 3, Credit: 5, IdleTimeout: time.Minute})
	_, err := azure.Dial(t.Context(), "amqp://"+addr, &azure.ConnOptions{SASLType: azure.SASLTypePlain("guest", "guess")})
	wantError(t, err, "SASL PLAIN auth failed")
	for _, qos := range []uint8{0, 1} {
		t.Run(fmt.Sprintf("QoS%d", qos), func(t *testing.T) {
			topic := fmt.Sprint("lab", qos)
			r, s := libraryReceiver(t, addr, topic, qos), librarySender(t, addr, topic, qos)
			for i, size := range amqp10Sizes {
				if err := s.Send(t.Context(), azure.NewMessage(prototest.Pattern(size)), nil); err != nil {
					t.Fatal(err)
				}
				if m := libraryReceive(t, r); !slices.Equal(m.GetData(), prototest.Pattern(size)) {
					t.Errorf("message %d of %d bytes arrived as %d bytes", i, size, len(m.GetData()))
				}
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAMQP10ServerRefusesLibrary: go-amqp understands how our server refuses a link, and what drains its credit.
func TestAMQP10ServerRefusesLibrary(t *testing.T) {
	t.Parallel()
	addr := serveAMQP10(t, &amqp10.ServerConfig{MaxMessage: 1000})
	session := libraryAMQP10(t, addr)
	_, err := session.NewReceiver(t.Context(), "", nil)
	var refused *azure.Error
	if !errors.As(err, &refused) || refused.Condition != azure.ErrCondNotFound {
		t.Errorf("a receiver without an address: %v", err)
	}
	r, err := session.NewReceiver(t.Context(), "lab", &azure.ReceiverOptions{Credit: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.IssueCredit(7); err != nil {
		t.Fatal(err)
	}
	if err := r.DrainCredit(t.Context(), nil); err != nil {
		t.Errorf("draining: %v", err)
	}
	s, err := session.NewSender(t.Context(), "lab", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.MaxMessageSize() != 1000 {
		t.Errorf("the largest message is said to have %d bytes", s.MaxMessageSize())
	}
	if err := s.Send(t.Context(), azure.NewMessage([]byte("for nobody's credit")), nil); err != nil {
		t.Error(err)
	}
	soon, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if m, err := r.Receive(soon, nil); err == nil {
		t.Errorf("received %q without credit", m.GetData())
	}
	if err := session.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// serveAMQP10 starts a router, which takes "group:pattern" for a shared subscription.
func serveAMQP10(t *testing.T, cfg *amqp10.ServerConfig) string {
	t.Helper()
	router := prototest.Router{
		Open:  func() proto.Server { return amqp10.NewServer(cfg) },
		Match: func(_ proto.Server, i *prototest.Interest, topic []byte) bool { return amqp091.Match(i.Pattern, topic) },
		Interest: func(_ proto.Server, i *prototest.Interest) {
			if group, pattern, ok := strings.Cut(i.Pattern, ":"); ok {
				i.Group, i.Pattern = group, pattern
			}
		},
		Full: amqp10.ErrNoRoom, Lower: true,
	}
	return router.Serve(t)
}
