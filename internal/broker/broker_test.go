package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestMain lets the test program be run again as the guard and as an embedded broker.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{
		"lab":       func(args []string, _ io.Reader, _ io.Writer) int { return lab(args...) },
		LimitedVerb: Limited,
		Verb:        Main,
	})
}

// lab starts every broker that is here and starts fast, or only those named, and waits to be killed.
func lab(only ...string) int {
	g, err := guard.Start()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, broker := range only {
		_, _ = Start(context.Background(), subject(broker, Process, Tuned), Options{Guard: g})
	}
	for _, s := range []plan.Subject{
		subject("mosquitto", Process, AsShipped), subject("mochi", Embedded, AsShipped),
		subject("nats", Process, Tuned), subject("nats", Embedded, Tuned), subject("redis", Process, Tuned),
		subject("zenoh", Process, Tuned),
	} {
		if len(only) == 0 {
			_, _ = Start(context.Background(), s, Options{Guard: g})
		}
	}
	fmt.Println("up")
	select {}
}

func subject(broker, runtime, variant string) plan.Subject {
	return plan.Subject{Name: broker + "@" + runtime, Broker: broker, Runtime: runtime, Variant: variant}
}

func over(protocol string, s plan.Subject) plan.Subject {
	s.Protocol = protocol
	return s
}

// subjects are all that can be started here. A missing program is a failure where everything must be there (CI).
func subjects(t *testing.T) (all []plan.Subject) {
	for _, s := range []plan.Subject{
		subject("mochi", Embedded, AsShipped), subject("mochi", Embedded, Tuned),
		subject("nats", Embedded, AsShipped), subject("nats", Embedded, Tuned),
		subject("mosquitto", Process, AsShipped), subject("mosquitto", Process, Tuned),
		subject("nats", Process, AsShipped), subject("nats", Process, Tuned),
		subject("redis", Process, AsShipped), subject("redis", Process, Tuned),
		subject("zenoh", Process, AsShipped), subject("zenoh", Process, Tuned),
		subject("rabbitmq", Process, Tuned), subject("artemis", Process, Tuned), subject("hivemq", Process, Tuned),
	} {
		switch f := Find(t.Context(), s); {
		case testing.Short() && slow[s.Broker]:
		case f.OK:
			all = append(all, s)
		case mustBeHere(s):
			t.Error(f.Why)
		default:
			t.Log("not tested: " + f.Why)
		}
	}
	return all
}

// slow are the brokers that take seconds to start.
var slow = map[string]bool{"rabbitmq": true, "artemis": true, "hivemq": true}

// mustBeHere: in CI every broker must be there, but for those of which scripts/brokers noted that it could not get them.
func mustBeHere(s plan.Subject) bool {
	_, err := os.Stat(filepath.Join(Cache(), s.Broker+".missing"))
	return needs.CI() && err != nil
}

// need skips where s is not installed.
func need(t *testing.T, s plan.Subject) plan.Subject {
	t.Helper()
	if f := Find(t.Context(), s); !f.OK {
		if mustBeHere(s) {
			t.Fatal(f.Why)
		}
		t.Skip(f.Why)
	}
	return s
}

// options give each test its own guard and folder for temporary files, which must be empty in the end.
func options(t *testing.T) Options {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	g := guardtest.Start(t)
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(tmp, "mqlab-*")); len(left) > 0 {
			t.Errorf("folders left behind: %v", left)
		}
	})
	return Options{Guard: g}
}

func start(t *testing.T, s plan.Subject, o Options) *Instance {
	t.Helper()
	i, err := Start(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(context.Background()) })
	return i
}

func label(s plan.Subject) string { return s.Broker + ":" + s.Variant + "@" + s.Runtime }

func TestStartAndStop(t *testing.T) {
	for _, s := range subjects(t) {
		t.Run(label(s), func(t *testing.T) {
			i := start(t, s, options(t))
			u, err := url.Parse(i.URL)
			if err != nil || u.Hostname() != loopback {
				t.Errorf("URL %q, %v", i.URL, err)
			}
			if err := greet(t.Context(), netns.Host, u.Scheme, u.Host); err != nil {
				t.Errorf("it does not answer: %v", err)
			}
			if i.Version == "" || len(i.Config) == 0 || len(i.PIDs) != 1 || i.Limits["open_files"] == 0 {
				t.Errorf("version %q, pids %v, limits %v, config %v", i.Version, i.PIDs, i.Limits, i.Config)
			}
			select {
			case err, open := <-i.Exited():
				t.Errorf("exited: %v %v", err, open)
			default:
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Errorf("stopping again: %v", err)
			}
			if err, open := <-i.Exited(); open {
				t.Errorf("a wanted end was reported: %v", err)
			}
			if c, err := net.Dial("tcp", u.Host); err == nil {
				_ = c.Close()
				t.Error("something still listens")
			}
		})
	}
}

// setting returns what is in force: what the broker says comes after what was written.
func setting(i *Instance, key string) (found Setting) {
	for _, c := range i.Config {
		if c.Key == key {
			found = c
		}
	}
	return found
}

func TestVariantsAreInForce(t *testing.T) {
	for _, c := range []struct {
		s     plan.Subject
		key   string
		value string
		from  string
	}{
		{subject("mochi", Embedded, AsShipped), "capabilities.maximum_client_writes_pending", "8192", effective},
		{subject("mochi", Embedded, Tuned), "capabilities.maximum_client_writes_pending", "32768", effective},
		{subject("nats", Embedded, AsShipped), "max_pending", "67108864", effective},
		{subject("nats", Embedded, Tuned), "max_pending", "268435456", effective},
		{subject("nats", Process, AsShipped), "write_deadline", "10s", effective},
		{subject("nats", Process, Tuned), "write_deadline", "1m0s", effective},
		{subject("redis", Process, AsShipped), "client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", effective},
		{subject("redis", Process, Tuned), "client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 0 0 0", effective},
		{subject("redis", Process, Tuned), "save", "", effective},
		{subject("zenoh", Process, AsShipped), "transport/unicast/max_sessions", "1000", effective},
		{subject("zenoh", Process, AsShipped), "scouting/multicast/enabled", "false", effective},
		{subject("zenoh", Process, Tuned), "transport/unicast/max_sessions", "100000", effective},
		{subject("zenoh", Process, Tuned), "transport/link/tx/queue/congestion_control", `{"block":{"wait_before_close":60000000},"drop":{"max_wait_before_drop_fragments":100000,"wait_before_drop":100000}}`, effective},
		{subject("mosquitto", Process, AsShipped), "set_tcp_nodelay", "", ""},
		{subject("mosquitto", Process, Tuned), "set_tcp_nodelay", "true", asWritten},
	} {
		t.Run(label(c.s), func(t *testing.T) {
			i := start(t, need(t, c.s), options(t))
			if got := setting(i, c.key); got.Value != c.value || got.Source != c.from {
				t.Errorf("%s = %+v, want %q (%s)", c.key, got, c.value, c.from)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLargeMessagesAreAllowed(t *testing.T) {
	for _, runtime := range []string{Embedded, Process} {
		o := options(t)
		for _, c := range []struct{ ask, want int }{{0, 1 << 20}, {1 << 20, 1 << 20}, {3 << 20, 3 << 20}} {
			o.MaxMessageBytes = c.ask
			i := start(t, need(t, subject("nats", runtime, AsShipped)), o)
			if got := i.Limits["max_payload_bytes"]; got != int64(c.want) {
				t.Errorf("%s: asked for %d, max_payload_bytes is %d", runtime, c.ask, got)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestNothingIsLeftOfAStartGivenUp(t *testing.T) {
	for _, s := range subjects(t) {
		for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 15 * time.Millisecond} {
			o := options(t)
			ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("changed my mind"))
			i, err := Start(ctx, s, o)
			cancel()
			switch {
			case err == nil:
				err = i.Stop(t.Context())
				if err != nil {
					t.Error(err)
				}
			case !strings.Contains(err.Error(), "changed my mind") && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("%s after %v: %v", label(s), after, err)
			}
		}
	}
}

func TestUnusableSubjects(t *testing.T) {
	o := options(t)
	with := func(binary string) Options { o := o; o.Binary = binary; return o }
	for _, c := range []struct {
		s    plan.Subject
		o    Options
		want string
	}{
		{subject("mosquitto", Process, AsShipped), with("/nowhere/mosquitto"), "mosquitto cannot be run: exec: \"/nowhere/mosquitto\""},
		{subject("mosquitto", Process, AsShipped), with("/bin/true"), "/bin/true is not a working mosquitto"},
		{subject("nats", Process, AsShipped), with("/bin/false"), "/bin/false is not a working nats-server: exit status 1"},
		{subject("mochi", Embedded, AsShipped), with("/bin/false"), "mochi exited with 1 before it was ready"},
		{subject("mochi", Embedded, AsShipped), with("/bin/echo"), `mochi said "broker mochi`},
		{over(plan.MQTT5, subject("rabbitmq", Process, AsShipped)), with("/opt/rabbitmq/3.12.1/sbin/rabbitmq-server"), "rabbitmq-server cannot be run: "},
		{subject("mochi", Embedded, "fast"), o, `mochi has no variant "fast"`},
		{subject("kafka", Process, AsShipped), o, "no broker kafka@process: choose from artemis@process, emqx@process, hivemq@process, mochi@embedded"},
		{subject("mochi", Embedded, AsShipped), Options{}, "guard"},
	} {
		i, err := Start(t.Context(), c.s, c.o)
		if err == nil {
			_ = i.Stop(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %q: %v, want %q", label(c.s), c.o.Binary, err, c.want)
		}
	}
}

func TestChildUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"mochi"}, {"kafka", "--config", "{}"}, {"mochi", "--config", "{"}} {
		if code := Main(args, strings.NewReader(""), io.Discard); code != 1 {
			t.Errorf("Main(%q) = %d", args, code)
		}
	}
}

// TestRabbitMQTuned: a list of options replaces RabbitMQ's defaults, of which TCP_NODELAY must not be lost.
func TestRabbitMQTuned(t *testing.T) {
	s := over(plan.MQTT311, subject("rabbitmq", Process, Tuned))
	i := start(t, need(t, s), options(t))
	for key, want := range map[string]string{"mqtt.tcp_listen_options": "{nodelay,true}", "mqtt.prefetch": "65535", "tcp_listeners": "[]"} {
		if got := setting(i, key); !strings.Contains(got.Value, want) || got.Source != effective {
			t.Errorf("%s = %+v, want %s", key, got, want)
		}
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRabbitMQSpeaksMQTT5SinceVersion(t *testing.T) {
	for version, want := range map[string]bool{"3.10.8": false, "3.12.14": false, "3.13.0": true, "4.2.1": true, "": true} {
		s := &site{version: version, protocol: plan.MQTT5}
		if err := rabbitSpeaks(s); (err == nil) != want {
			t.Errorf("version %q: %v", version, err)
		}
		s.protocol = plan.MQTT311
		if err := rabbitSpeaks(s); err != nil {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestFindJavaBrokers(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("MQLAB_CACHE", cache)
	t.Setenv("ARTEMIS_HOME", "")
	s := subject("artemis", Process, AsShipped)
	why := func() string { return Find(t.Context(), s).Why }
	if got := why(); !strings.Contains(got, "scripts/brokers artemis") || strings.Contains(got, "tried") {
		t.Errorf("not there: %s", got)
	}
	if err := os.WriteFile(filepath.Join(cache, "artemis.missing"), []byte("no network\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := why(); !strings.HasSuffix(got, "(tried, and failed: no network)") {
		t.Errorf("tried: %s", got)
	}
	for _, version := range []string{"2.9.1", "2.40.0"} {
		lib := filepath.Join(cache, "artemis-"+version, "lib")
		if err := os.MkdirAll(lib, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lib, "artemis-server-"+version+".jar"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	java := filepath.Join(t.TempDir(), "bin", "java")
	if err := os.MkdirAll(filepath.Dir(java), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JAVA_HOME", filepath.Dir(filepath.Dir(java)))
	if got := why(); !strings.Contains(got, "needs Java") {
		t.Errorf("no Java: %s", got)
	}
	if err := os.WriteFile(java, []byte("#!/bin/sh\necho ERROR the journal is broken\necho bye\nexit 4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if f := Find(t.Context(), s); !f.OK || f.Version != "2.40.0" {
		t.Errorf("the newest is %+v", f)
	}
	if _, err := Start(t.Context(), s, options(t)); err == nil || !strings.HasSuffix(err.Error(), "artemis exited with 4 before it was ready: ERROR the journal is broken") {
		t.Errorf("start: %v", err)
	}
	t.Setenv("ARTEMIS_HOME", cache)
	if got := why(); !strings.Contains(got, "is no Artemis: it has no lib/artemis-server-*.jar") {
		t.Errorf("a wrong home: %s", got)
	}
}

func TestHiveMQConfig(t *testing.T) {
	got := hiveMQConfig([]Setting{{Key: "a/b/c", Value: "1"}, {Key: "a/b/d", Value: "2"}, {Key: "a/e", Value: "3"}, {Key: "f/g", Value: "4"}})
	want := "<hivemq>\n<a>\n<b>\n<c>1</c>\n<d>2</d>\n</b>\n<e>3</e>\n</a>\n<f>\n<g>4</g>\n</f>\n</hivemq>\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
