package broker

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// emqx runs an installed EMQX 5 or later (https://docs.emqx.com/en/emqx/latest/configuration/configuration.html). Every
// setting is given by an environment variable: the key in capitals with EMQX_ before it and __ for each dot.
//
// As shipped: one listener, for MQTT, on the loopback interface; no dashboard, no listeners for TLS and WebSocket. Every
// other setting is EMQX's own default; in particular 32 messages are in flight to a client and 1000 wait for it, further
// ones are dropped, and a packet may have 1 MB. Anybody may connect.
//
// Tuned: any number of messages may be in flight and wait for a client; a long queue of connections to be accepted; no
// $SYS topics.
//
// EMQX has no package in Debian, nor a program that a package registry serves: this file is tested by what it writes. A
// package of EMQX's own that insists on running as the user emqx cannot read our folder; the archive (tar.gz) can.
type emqx struct{}

const (
	emqxPort      = 1883
	emqxMaxPacket = 1_000_000 // by default
	// emqxDistribution is the lowest port of the Erlang distribution: to it the number at the end of the node's name is added.
	emqxDistribution = 4370
)

func (emqx) find(_ context.Context, binary string) Finding {
	how := "given: "
	if binary == "" {
		how = "installed: "
		if home := os.Getenv("EMQX_HOME"); home != "" {
			binary, how = filepath.Join(home, "bin", "emqx"), "by $EMQX_HOME: "
		} else if path, err := exec.LookPath("emqx"); err == nil {
			binary = path
		}
	}
	if binary == "" {
		return Finding{Why: "EMQX cannot be started here: emqx is not in PATH and $EMQX_HOME is not set; Debian has no package of it: take emqx@docker, or give its URL (mqtt://HOST:1883)"}
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return Finding{Why: fmt.Sprintf("emqx cannot be run: %v", err)}
	}
	version := emqxVersion(path)
	if version == "" {
		return Finding{Path: path, Why: path + " is not a working emqx: beside its folder bin there is no releases/start_erl.data"}
	}
	return Finding{OK: true, Path: path, Version: version, Why: how + path}
}

// emqxVersion reads the version of an installation: the file names the Erlang runtime's and the release's.
func emqxVersion(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "releases", "start_erl.data"))
	words := strings.Fields(string(b))
	if err != nil || len(words) != 2 {
		return ""
	}
	return words[1]
}

func (emqx) prepare(s *site) (*program, error) {
	var ports [3]string
	for i := range ports {
		var err error
		if ports[i], err = s.port(); err != nil {
			return nil, err
		}
	}
	listener := net.JoinHostPort(loopback, ports[0])
	config := emqxSettings(s, listener)
	if s.tls {
		cert, key, err := s.certificate()
		if err != nil {
			return nil, err
		}
		config = append(config,
			Setting{"listeners.ssl.default.ssl_options.cacertfile", cert, asWritten},
			Setting{"listeners.ssl.default.ssl_options.certfile", cert, asWritten},
			Setting{"listeners.ssl.default.ssl_options.keyfile", key, asWritten},
			Setting{"listeners.ssl.default.ssl_options.handshake_timeout", patience + "ms", asWritten})
	}
	p := &program{
		args: []string{"foreground"}, scheme: s.scheme(plan.MQTT5), address: listener, patience: time.Minute, config: config,
		env: emqxEnvironment(s.dir, ports[1], ports[2], rand.Text()),
	}
	for _, c := range config {
		p.env = append(p.env, emqxVariable(c))
	}
	return p, nil
}

// emqxSettings are the ones that matter to clients.
func emqxSettings(s *site, listener string) []Setting {
	kind, other := "tcp", "ssl"
	if s.tls {
		kind, other = other, kind
	}
	config := []Setting{
		{"listeners." + kind + ".default.bind", listener, asWritten},
		{"listeners." + other + ".default.enable", "false", asWritten},
		{"listeners.ws.default.enable", "false", asWritten},
		{"listeners.wss.default.enable", "false", asWritten},
		{"dashboard.listeners.http.bind", "0", asWritten},
	}
	if s.maxMessage > emqxMaxPacket-1<<16 {
		config = append(config, Setting{"mqtt.max_packet_size", strconv.Itoa(s.maxMessage+1<<17) + "B", asWritten})
	}
	if s.variant == Tuned {
		config = append(config,
			Setting{"mqtt.max_inflight", "65535", asWritten},
			Setting{"mqtt.max_mqueue_len", "infinity", asWritten},
			Setting{"listeners." + kind + ".default.tcp_options.backlog", "4096", asWritten},
			Setting{"sys_topics.sys_msg_interval", "disabled", asWritten},
		)
	}
	return config
}

// emqxVariable is the environment variable of a setting.
func emqxVariable(c Setting) string {
	return "EMQX_" + strings.ToUpper(strings.ReplaceAll(c.Key, ".", "__")) + "=" + c.Value
}

// emqxEnvironment keeps a node within the folder dir, on the loopback interface and at free ports, and apart from every
// other node.
func emqxEnvironment(dir, distribution, rpc, cookie string) []string {
	port, _ := strconv.Atoi(distribution) // it comes from a listener
	return []string{
		"EMQX_NODE__NAME=mqlab" + strconv.Itoa(port-emqxDistribution) + "@" + loopback,
		"EMQX_NODE__COOKIE=" + cookie,
		"EMQX_NODE__DATA_DIR=" + filepath.Join(dir, "data"),
		"EMQX_LOG_DIR=" + filepath.Join(dir, "log"),
		"EMQX_LOG__CONSOLE__LEVEL=warning",
		"EMQX_RPC__PORT_DISCOVERY=manual",
		"EMQX_RPC__TCP_SERVER_PORT=" + rpc,
		"EMQX_RPC__LISTEN_ADDRESS=" + loopback,
		"ERL_FLAGS=-kernel inet_dist_use_interface {127,0,0,1}",
	}
}
