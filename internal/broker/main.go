package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// Verb is the first argument by which main knows that it shall be an embedded broker: it then calls Main with the
// arguments after it.
const Verb = "broker"

// embedded runs a broker that is part of this program, as a child process: in our own process it would share our
// scheduler and garbage collector, which flatters its latency, and could not be paused or killed.
type embedded struct {
	name    string
	scheme  string // of its URL
	version func() string
	serve   func(*childConfig) (r *report, stop func(), err error) // inside the child
}

var (
	embeddedMochi = embedded{"mochi", "mqtt", mochiVersion, serveMochi}
	embeddedNATS  = embedded{"nats", "nats", embeddedNATSVersion, serveNATS}
)

// childConfig is what the child is told.
type childConfig struct {
	Variant         string   `json:"variant"`
	MaxMessageBytes int      `json:"max_message_bytes,omitempty"`
	Protocols       []string `json:"protocols,omitempty"` // that will be spoken
	Dir             string   `json:"dir,omitempty"`       // for what it stores
	Ports           []int    `json:"ports,omitempty"`     // where to listen, a port for each listener; none = anywhere
}

// port is that of listener n; 0 = any.
func (c *childConfig) port(n int) int {
	if n < len(c.Ports) {
		return c.Ports[n]
	}
	return 0
}

func (e embedded) find(_ context.Context, binary string) Finding {
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return Finding{Why: fmt.Sprintf("this program cannot find itself to run %s: %v", e.name, err)}
		}
	}
	return Finding{OK: true, Path: binary, Version: e.version(), Why: "part of this program"}
}

func (e embedded) prepare(s *site) (*program, error) {
	config := childConfig{
		Variant: s.variant, MaxMessageBytes: s.maxMessage, Protocols: []string{s.protocol, s.subscribe}, Dir: s.dir,
	}
	args := func() []string {
		text, _ := json.Marshal(config) // it holds nothing that cannot be marshalled
		return []string{Verb, e.name, "--config", string(text)}
	}
	p := &program{args: args(), scheme: e.scheme, patience: 10 * time.Second}
	p.again = func(listeners []endpoint) []string {
		config.Ports = nil
		for _, l := range listeners {
			at, _ := netip.ParseAddrPort(l.Address) // which the broker answered at
			config.Ports = append(config.Ports, int(at.Port()))
		}
		return args()
	}
	if s.variant == Tuned {
		p.env, p.config = []string{goGC}, []Setting{goGCSetting}
	}
	return p, nil
}

// Main is an embedded broker's process: args are the broker's name, "--config" and a JSON object. It prints one line of
// JSON with the address on stdout when it listens, and serves until stdin is closed, which the kernel does when the lab
// is gone, or SIGTERM comes. Its result is the exit code.
func Main(args []string, stdin io.Reader, stdout io.Writer) int {
	if err := serve(args, stdin, stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serve(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 3 || args[1] != "--config" {
		return fmt.Errorf("usage: %s NAME --config JSON", Verb)
	}
	var broker embedded
	switch args[0] {
	case embeddedMochi.name:
		broker = embeddedMochi
	case embeddedNATS.name:
		broker = embeddedNATS
	default:
		return fmt.Errorf("%s is not part of this program", args[0])
	}
	var config childConfig
	if err := json.Unmarshal([]byte(args[2]), &config); err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	r, stop, err := broker.serve(&config)
	if err != nil {
		return err
	}
	defer stop()
	r.Config = append(r.Config, Setting{"gomaxprocs", strconv.Itoa(runtime.GOMAXPROCS(0)), effective})
	if err := json.NewEncoder(stdout).Encode(r); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	<-ctx.Done()
	return nil
}

// moduleVersion returns the version of a module in this program as the linker recorded it, or else what its source says.
func moduleVersion(path, source string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path && len(m.Version) > 1 {
				return m.Version[1:]
			}
		}
	}
	return source
}
