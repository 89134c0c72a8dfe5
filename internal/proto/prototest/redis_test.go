package prototest_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// redisGuarded lets in only the suite's user, and payloads of a MiB at most.
var redisGuarded = []string{
	"--proto-max-bulk-len", "1mb", "--user", "default", "off",
	"--user", prototest.User, "on", redisHash(prototest.Password), "allkeys", "allchannels", "allcommands",
}

// redisHash is a password as ACLs write it.
func redisHash(password string) string { return fmt.Sprintf("#%x", sha256.Sum256([]byte(password))) }

const redisGuardedPayload = 1<<20 + 1

// redisVersions are the versions of the protocol.
var redisVersions = map[string]bool{"RESP3": false, "RESP2": true}

func redisConfig(o *prototest.Options, resp2 bool) *resp.Config {
	return &resp.Config{
		User: o.User, Password: o.Password, KeepAlive: o.KeepAlive, Window: o.Window, RESP2: resp2,
		Block: 5 * time.Millisecond, HoldAcks: o.HoldAcks, MaxPayload: redisGuardedPayload - 1,
	}
}

func pubSubProtocol(resp2 bool) *prototest.Protocol {
	lacks := []prototest.Feature{prototest.Groups}
	if resp2 {
		lacks = append(lacks, prototest.SizeLimit) // that test publishes on a connection that has subscribed
	}
	return &prototest.Protocol{
		Name: "redis",
		NewClient: func(o *prototest.Options) prototest.Client {
			return &surePubSub{PubSub: resp.NewPubSub(redisConfig(o, resp2), o.ID)}
		},
		Separator: "/", One: "*", Rest: "*",
		QoS:   []uint8{0, 1},
		Lacks: lacks,
	}
}

// surePubSub says of its subscriptions and deliveries what was asked for: the suite compares the two, while pub/sub says
// truthfully that it delivers at most once.
type surePubSub struct {
	*resp.PubSub
	qos uint8
}

func (c *surePubSub) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	c.qos = s.QoS
	return c.PubSub.Subscribe(s, out)
}

func (c *surePubSub) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	n, out, err := c.PubSub.Feed(now, in, out, ev)
	if ev.Kind == proto.Delivered || ev.Kind == proto.Subscribed {
		ev.QoS = c.qos
	}
	return n, out, err
}

func TestRedisPubSub(t *testing.T) {
	t.Parallel()
	b := &prototest.Broker{
		Name: "redis-server", Addr: redis(t), Guarded: redis(t, redisGuarded...), GuardedMaxPayload: redisGuardedPayload,
	}
	runPubSub(t, b)
}

// runPubSub runs the suite against a broker, with both versions of the protocol.
func runPubSub(t *testing.T, b *prototest.Broker) {
	for name, resp2 := range redisVersions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prototest.Run(t, pubSubProtocol(resp2), b)
		})
	}
}

// redis starts the real server on a free loopback port, without persistence, and returns its address.
func redis(t testing.TB, settings ...string) string {
	t.Helper()
	program, port := find(t, "redis-server"), freePort(t)
	cmd := exec.Command(program, append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
		"--daemonize", "no", "--loglevel", "warning",
	}, settings...)...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("redis-server said:\n%s", log.Bytes())
		}
	})
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	if err := redisAnswers(addr, exited); err != nil {
		t.Fatalf("redis-server does not start: %v\n%s", err, log.Bytes())
	}
	return addr
}

// redisAnswers waits until a server answers, even if only to refuse us.
func redisAnswers(addr string, exited chan error) error {
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	timeout := time.After(patience)
	for {
		c, err := prototest.Dial(addr, resp.NewPubSub(&resp.Config{}, ""))
		if err == nil {
			ev, err := c.Next(time.Second)
			_ = c.Abort()
			if err == nil && ev.Kind == proto.Ready || isServerError(err) {
				return nil
			}
		}
		select {
		case err := <-exited:
			exited <- err
			return fmt.Errorf("it exited: %w", err)
		case <-timeout:
			return fmt.Errorf("no answer on %s: %w", addr, err)
		case <-retry.C:
		}
	}
}
