package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestRabbitMQFollows: the largest message is what the configuration says, in AMQP 0-9-1 and AMQP 1.0. The broker, which is hard
// to start and to end, is started as for trials; then its configuration is changed, and it is started again.
func TestRabbitMQFollows(t *testing.T) {
	t.Parallel()
	s, err := plan.ParseSubject("rabbitmq/amqp10")
	if err != nil {
		t.Fatal(err)
	}
	installed(t, "rabbitmq")
	g := guardtest.Start(t)
	i, err := broker.Start(t.Context(), s, broker.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(t.Context()) })
	folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", i.PIDs[0]))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "rabbitmq.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\nmax_message_size = 200000\n"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := i.Down(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := i.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{plan.AMQP091, plan.AMQP10} {
		s.Protocol = protocol
		r, err := Run(t.Context(), s, i.URL, Options{Questions: []string{AskPayload}})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := r.Answer(AskPayload)
		if n := a.Figures["payload_bytes"]; n < 190_000 || n > 200_000 || r.Took > time.Minute {
			t.Errorf("%s: %+v", protocol, a)
		}
	}
}
