package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// zenohRouter runs a Zenoh router (https://zenoh.io/docs/manual/configuration/): zenohd where it is in PATH, or the router
// that is in the Python package eclipse-zenoh, which has the same code, from a folder that scripts/brokers makes.
//
// As shipped: a listener on the loopback interface, and no search for other nodes, by multicast or gossip. Every other
// setting is Zenoh's own default; in particular 1000 sessions may be open, a message that may be dropped waits 1 ms
// at a congested link (50 ms if it takes several batches), and a link that takes no message for 5 s, which must not be
// dropped, is closed.
//
// Tuned: as many sessions as a trial may have and a long queue of those to be accepted, 100 ms and 60 s in the places of 1 ms
// and 5 s, room for 16 batches instead of 2 in the queue of each link, and as many open files as the system allows.
type zenohRouter struct{}

var zenohFiles = folder{
	name: "Zenoh", home: "ZENOH_HOME", proof: "lib/python3*/site-packages/eclipse_zenoh-*.dist-info",
	install: "scripts/brokers zenoh installs the Python package eclipse-zenoh",
}

var zenohVersion = regexp.MustCompile(`zenohd v?(\d\S*)`)

func (zenohRouter) find(ctx context.Context, binary string) Finding {
	if info, err := os.Stat(binary); err == nil && info.IsDir() {
		return zenohFiles.find(binary)
	}
	if f := findProgram(ctx, binary, "zenohd", "", "--version", zenohVersion); f.OK || binary != "" {
		return f
	}
	return zenohFiles.find("")
}

// zenohScript is the router in Python. Its arguments are the file for the report and settings, KEY=VALUE. SIGTERM is blocked
// before threads are made which would take it.
const zenohScript = `
import importlib.metadata, json, os, signal, sys, zenoh

ends = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, ends)
zenoh.init_log_from_env_or("error")
config = zenoh.Config()
for setting in sys.argv[2:]:
    config.insert_json5(*setting.split("=", 1))
session = zenoh.open(config)
report = {"version": importlib.metadata.version("eclipse-zenoh")}
for key in ("mode", "listen/endpoints", "scouting/multicast/enabled", "scouting/gossip/enabled", "transport"):
    report[key] = json.loads(config.get_json(key))
with open(sys.argv[1] + ".new", "w") as f:
    json.dump(report, f)
os.rename(sys.argv[1] + ".new", sys.argv[1])
signal.sigwait(ends)
session.close()
os._exit(0)
`

func (zenohRouter) prepare(s *site) (*program, error) {
	port, err := s.port()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(loopback, port)
	settings := zenohSettings(s, address)
	p := &program{scheme: "zenoh", address: address, patience: 20 * time.Second}
	if s.variant == Tuned {
		p.started = raiseOpenFiles
	}
	if info, err := os.Stat(s.path); err == nil && !info.IsDir() {
		p.args, p.config = zenohArgs(settings), settings
		return p, nil
	}
	script, err := s.file("router.py", zenohScript)
	if err != nil {
		return nil, err
	}
	about := filepath.Join(s.dir, "report.json")
	p.path = filepath.Join(s.path, "bin", "python3")
	p.args = []string{"-I", script, about}
	for _, c := range settings {
		p.args = append(p.args, c.Key+"="+c.Value)
	}
	p.readBack = func(ctx context.Context) (*report, error) { return readZenoh(ctx, about) }
	return p, nil
}

// zenohSettings are all that differ from Zenoh's defaults. The values are JSON.
func zenohSettings(s *site, address string) []Setting {
	config := []Setting{
		{"mode", `"router"`, asWritten},
		{"listen/endpoints", fmt.Sprintf(`["tcp/%s"]`, address), asWritten},
		{"scouting/multicast/enabled", "false", asWritten},
		{"scouting/gossip/enabled", "false", asWritten},
	}
	if s.maxMessage > zenohMaxMessage {
		config = append(config, Setting{"transport/link/rx/max_message_size", strconv.Itoa(s.maxMessage + 1<<10), asWritten})
	}
	if s.variant == Tuned {
		const queue = "transport/link/tx/queue/"
		config = append(config,
			Setting{"transport/unicast/max_sessions", "100000", asWritten},
			Setting{"transport/unicast/accept_pending", "10000", asWritten},
			Setting{queue + "size/data", "16", asWritten},
			Setting{queue + "congestion_control/drop/wait_before_drop", "100000", asWritten},
			Setting{queue + "congestion_control/drop/max_wait_before_drop_fragments", "100000", asWritten},
			Setting{queue + "congestion_control/block/wait_before_close", "60000000", asWritten},
		)
	}
	return config
}

// zenohMaxMessage is Zenoh's default of max_message_size, less what a message has besides its payload.
const zenohMaxMessage = 1<<30 - 1<<10

// zenohArgs are the arguments of zenohd for settings.
func zenohArgs(config []Setting) (args []string) {
	for _, c := range config {
		args = append(args, "--cfg", c.Key+":"+c.Value)
	}
	return args
}

// zenohReport is what the script tells when the router is open: values as the library understands them. Times of queues
// are in microseconds, others in milliseconds.
type zenohReport struct {
	Version   string `json:"version"`
	Mode      string `json:"mode"`
	Listen    any    `json:"listen/endpoints"`
	Multicast bool   `json:"scouting/multicast/enabled"`
	Gossip    bool   `json:"scouting/gossip/enabled"`
	Transport struct {
		Unicast struct {
			MaxSessions   int64 `json:"max_sessions"`
			AcceptPending int64 `json:"accept_pending"`
			QoS           any   `json:"qos"`
		} `json:"unicast"`
		Link struct {
			TX struct {
				Lease     int64 `json:"lease"`
				KeepAlive int64 `json:"keep_alive"`
				BatchSize int64 `json:"batch_size"`
				Queue     struct {
					Size       any `json:"size"`
					Congestion any `json:"congestion_control"`
					Batching   any `json:"batching"`
				} `json:"queue"`
			} `json:"tx"`
			RX struct {
				BufferSize int64 `json:"buffer_size"`
				MaxMessage int64 `json:"max_message_size"`
			} `json:"rx"`
		} `json:"link"`
		SharedMemory any `json:"shared_memory"`
	} `json:"transport"`
}

// readZenoh reads what the script wrote. It is there before the router is asked for it, or a moment later: the router listens
// before its session is said to be open.
func readZenoh(ctx context.Context, path string) (*report, error) {
	var text []byte
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		var err error
		if text, err = os.ReadFile(path); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
	var z zenohReport
	if err := json.Unmarshal(text, &z); err != nil {
		return nil, err
	}
	t := &z.Transport
	r := &report{Version: z.Version, Limits: map[string]int64{
		"max_connections": t.Unicast.MaxSessions, "max_payload_bytes": t.Link.RX.MaxMessage,
	}}
	for _, c := range []struct {
		key   string
		value any
	}{
		{"mode", z.Mode},
		{"listen/endpoints", z.Listen},
		{"scouting/multicast/enabled", z.Multicast},
		{"scouting/gossip/enabled", z.Gossip},
		{"transport/unicast/max_sessions", t.Unicast.MaxSessions},
		{"transport/unicast/accept_pending", t.Unicast.AcceptPending},
		{"transport/unicast/qos", t.Unicast.QoS},
		{"transport/link/tx/lease", t.Link.TX.Lease},
		{"transport/link/tx/keep_alive", t.Link.TX.KeepAlive},
		{"transport/link/tx/batch_size", t.Link.TX.BatchSize},
		{"transport/link/tx/queue/size", t.Link.TX.Queue.Size},
		{"transport/link/tx/queue/congestion_control", t.Link.TX.Queue.Congestion},
		{"transport/link/tx/queue/batching", t.Link.TX.Queue.Batching},
		{"transport/link/rx/buffer_size", t.Link.RX.BufferSize},
		{"transport/link/rx/max_message_size", t.Link.RX.MaxMessage},
		{"transport/shared_memory", t.SharedMemory},
	} {
		value, err := json.Marshal(c.value)
		if err != nil {
			return nil, err
		}
		r.Config = append(r.Config, Setting{c.key, string(value), effective})
	}
	return r, nil
}
