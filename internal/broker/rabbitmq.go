package broker

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// rabbitMQ runs an installed RabbitMQ (https://www.rabbitmq.com/docs/configure), with its plug-in for MQTT only when that
// is the protocol: it takes five seconds to start.
//
// As shipped: a listener on the loopback interface, user guest. Every other setting is RabbitMQ's own default; in
// particular an MQTT client has at most 10 messages in flight, publishers are blocked when 40 % of the memory are used,
// and the schedulers of the Erlang VM spin for a while before they sleep.
//
// Tuned: schedulers do not spin, which on few cores takes them from others; statistics once a minute; no line per
// connection in the log; a long queue of connections to be accepted; any number of MQTT messages in flight; and as many
// open files as the system allows.
//
// RabbitMQ needs epmd, by which Erlang nodes find each other. One that it starts by itself outlives it and listens on
// all interfaces; ours is started before, in the same tree.
type rabbitMQ struct{}

// rabbitScript runs epmd and then the broker in its place. An epmd that finds its port taken exits without a word. The
// Erlang VM makes a table for as many open files as it may have, so that has a bound.
const rabbitScript = `[ "$2" = tuned ] && {
	most=$(ulimit -Hn)
	[ "$most" = unlimited ] || [ "$most" -gt 200000 ] && most=200000
	ulimit -n "$most"
}
epmd -address 127.0.0.1 -port "$ERL_EPMD_PORT" &
while sleep 0.05; do
	kill -0 $! 2>/dev/null || { echo "ERROR: epmd: address already in use" >&2; exit 1; }
	epmd -port "$ERL_EPMD_PORT" -names >/dev/null 2>&1 && break
done
exec "$1"
`

// rabbitNoSpinning lets the schedulers of the Erlang VM sleep at once.
const rabbitNoSpinning = "+sbwt none +sbwtdcpu none +sbwtdio none"

// rabbitMaxMessage is what every version takes by default (max_message_size: 128 MiB, since 4.0 16 MiB).
const rabbitMaxMessage = 16 << 20

// rabbitFolders are where the scripts are that demand neither root nor fixed folders, unlike Debian's in /usr/sbin.
var rabbitFolders = []string{"/usr/lib/rabbitmq/bin", "/usr/local/lib/rabbitmq/bin", "/opt/homebrew/sbin", "/usr/local/sbin"}

// rabbitVersion is in the path of the installation.
var rabbitVersion = regexp.MustCompile(`rabbitmq(?:_server-|/)(\d[^/]*)`)

func (rabbitMQ) find(_ context.Context, binary string) Finding {
	if binary == "" {
		folders := rabbitFolders
		if home := os.Getenv("RABBITMQ_HOME"); home != "" {
			folders = []string{filepath.Join(home, "sbin")}
		}
		for _, folder := range folders {
			if path, err := exec.LookPath(filepath.Join(folder, "rabbitmq-server")); err == nil {
				binary = path
				break
			}
		}
	}
	if binary == "" {
		return Finding{Why: "rabbitmq-server is not installed: not in /usr/lib/rabbitmq/bin nor in $RABBITMQ_HOME/sbin; on Debian and Ubuntu: apt-get install rabbitmq-server"}
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return Finding{Why: fmt.Sprintf("rabbitmq-server cannot be run: %v", err)}
	}
	if _, err := exec.LookPath("epmd"); err != nil {
		return Finding{Path: path, Why: "epmd, a part of Erlang that RabbitMQ needs, is not in PATH"}
	}
	f := Finding{OK: true, Path: path, Why: "installed: " + path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if m := rabbitVersion.FindStringSubmatch(real); m != nil {
			f.Version = m[1]
		}
	}
	return f
}

func (rabbitMQ) prepare(s *site) (*program, error) {
	if err := rabbitSpeaks(s); err != nil {
		return nil, err
	}
	var ports [4]string // of epmd, for other nodes, AMQP, MQTT
	for i := range ports {
		var err error
		if ports[i], err = s.port(); err != nil {
			return nil, err
		}
	}
	p := &program{
		path: "/bin/sh", args: []string{"-c", rabbitScript, "sh", s.path, s.variant},
		patience: 90 * time.Second, complaint: regexp.MustCompile(`^ERROR: `),
	}
	amqp, mqtt := endpoint{"amqp", net.JoinHostPort(loopback, ports[2])}, endpoint{"mqtt", net.JoinHostPort(loopback, ports[3])}
	plugins := rabbitPlugins(s)
	if err := p.rabbitListens(s, amqp, mqtt); err != nil {
		return nil, err
	}
	p.config = append(p.config, rabbitSettings(s)...)
	if _, err := s.file("rabbitmq.conf", lines(p.config, " = ")); err != nil {
		return nil, err
	}
	if _, err := s.file("enabled_plugins", plugins); err != nil {
		return nil, err
	}
	erlang := "-kernel inet_dist_use_interface {127,0,0,1}"
	if s.variant == Tuned {
		erlang += " " + rabbitNoSpinning
	}
	p.config = append(p.config,
		Setting{"enabled_plugins (file)", plugins, asWritten},
		Setting{"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS (environment)", erlang, asWritten})
	p.env = append(rabbitEnvironment(s.dir, ports[0], ports[1]), "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+erlang)
	p.readBack = func(ctx context.Context) (*report, error) { return askRabbitMQ(ctx, s, p.env) }
	return p, nil
}

// rabbitListens adds the listeners of the protocols that will be spoken, and their settings.
func (p *program) rabbitListens(s *site, amqp, mqtt endpoint) error {
	kind := "tcp"
	if s.tls {
		cert, key, err := s.certificate()
		if err != nil {
			return err
		}
		kind, amqp.Scheme, mqtt.Scheme = "ssl", "amqps", "mqtts"
		p.config = append(p.config,
			Setting{"ssl_options.cacertfile", cert, asWritten}, Setting{"ssl_options.certfile", cert, asWritten}, Setting{"ssl_options.keyfile", key, asWritten},
			Setting{"ssl_handshake_timeout", patience, asWritten}, // five seconds by default
			Setting{"handshake_timeout", patience, asWritten})     // that of AMQP, ten
	}
	if s.speaks(rabbitMQTT...) {
		p.listen(mqtt)
		p.config = append(p.config, Setting{"mqtt.listeners." + kind + ".1", mqtt.Address, asWritten})
		if s.tls {
			p.config = append(p.config, Setting{"mqtt.listeners.tcp", "none", asWritten})
		}
	}
	plain := "none"
	if s.speaks("", plan.AMQP091, plan.AMQP10) {
		p.listen(amqp)
		if s.tls {
			p.config = append(p.config, Setting{"listeners.ssl.1", amqp.Address, asWritten})
		} else {
			plain = amqp.Address
			p.config = append(p.config, Setting{"listeners.tcp.1", plain, asWritten})
		}
	}
	if plain == "none" {
		p.config = append(p.config, Setting{"listeners.tcp", plain, asWritten})
	}
	return nil
}

// rabbitMQTT are the protocols of its plug-in for MQTT.
var rabbitMQTT = []string{plan.MQTT5, plan.MQTT311}

// rabbitPlugins is the content of the file of plug-ins.
func rabbitPlugins(s *site) string {
	var names []string
	if s.speaks(rabbitMQTT...) {
		names = append(names, "rabbitmq_mqtt")
	}
	if s.speaks(plan.AMQP10) {
		names = append(names, "rabbitmq_amqp1_0")
	}
	return "[" + strings.Join(names, ",") + "]."
}

// rabbitSpeaks refuses what the installed version cannot do. MQTT 5 came with 3.13.
func rabbitSpeaks(s *site) error {
	var major, minor int
	if n, _ := fmt.Sscanf(s.version, "%d.%d", &major, &minor); n == 2 && s.speaks(plan.MQTT5) && major*1000+minor < 3013 {
		return fmt.Errorf("version %s does not speak MQTT 5, which came with 3.13: use rabbitmq/%s", s.version, plan.MQTT311)
	}
	return nil
}

// rabbitSettings are the lines of the configuration besides the listeners.
func rabbitSettings(s *site) (config []Setting) {
	if s.maxMessage > rabbitMaxMessage {
		config = append(config, Setting{"max_message_size", strconv.Itoa(s.maxMessage), asWritten})
	}
	if memory := s.memory(); memory > 0 {
		// It takes the memory of the host for its own where it cannot see the machine's.
		config = append(config, Setting{"total_memory_available_override_value", strconv.FormatInt(memory, 10), asWritten})
	}
	if s.variant != Tuned {
		return config
	}
	config = append(config,
		Setting{"log.console.level", "warning", asWritten},
		Setting{"collect_statistics_interval", "60000", asWritten},
	)
	listeners := []string{"tcp_listen_options."}
	if s.speaks(rabbitMQTT...) {
		listeners = append(listeners, "mqtt.tcp_listen_options.")
		config = append(config, Setting{"mqtt.prefetch", "65535", asWritten})
	}
	for _, options := range listeners {
		config = append(config,
			// One option replaces the whole list of defaults, so the others are repeated.
			Setting{options + "backlog", "4096", asWritten},
			Setting{options + "nodelay", "true", asWritten},
			Setting{options + "linger.on", "true", asWritten},
			Setting{options + "linger.timeout", "0", asWritten},
			Setting{options + "exit_on_close", "false", asWritten},
		)
	}
	return config
}

// rabbitEnvironment keeps everything within the folder dir, and on the ports given.
func rabbitEnvironment(dir, epmd, distribution string) []string {
	in := func(base string) string { return filepath.Join(dir, base) }
	return []string{
		"ERL_EPMD_ADDRESS=" + loopback, "ERL_EPMD_PORT=" + epmd, "RABBITMQ_DIST_PORT=" + distribution,
		"ERL_CRASH_DUMP_SECONDS=0",
		"RABBITMQ_NODENAME=mqlab@localhost", "RABBITMQ_CONF_ENV_FILE=" + in("none"),
		"RABBITMQ_CONFIG_FILE=" + in("rabbitmq.conf"), "RABBITMQ_GENERATED_CONFIG_DIR=" + in("generated"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + in("enabled_plugins"),
		"RABBITMQ_MNESIA_BASE=" + in("data"), "RABBITMQ_PID_FILE=" + in("pid"),
		"RABBITMQ_LOG_BASE=" + in("log"), "RABBITMQ_LOGS=-",
		"RABBITMQ_CTL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
	}
}

// rabbitQuestion has the broker print what is in force, one setting a line, its name and value with a tab between.
const rabbitQuestion = `Put = fun(K, V) -> io:format("~s\t~0p~n", [K, V]) end,
[Put(K, V) || K <- [tcp_listeners, tcp_listen_options, max_message_size, frame_max, heartbeat, channel_max, connection_max,
	vm_memory_high_watermark, disk_free_limit, collect_statistics_interval, credit_flow_default_credit,
	queue_index_embed_msgs_below], {ok, V} <- [application:get_env(rabbit, K)]],
[Put("mqtt." ++ atom_to_list(K), V) || K <- [tcp_listeners, tcp_listen_options, prefetch, exchange, subscription_ttl],
	{ok, V} <- [application:get_env(rabbitmq_mqtt, K)]],
io:format("version\t~s~n", [rabbit_misc:version()]),
io:format("Erlang/OTP\t~s~n", [erlang:system_info(otp_release)]),
Put("schedulers", erlang:system_info(schedulers_online)),
[Put(sockets_limit, N) || [{sockets_limit, N}] <- [catch file_handle_cache:info([sockets_limit])]],
[Put(memory_limit, N) || N <- [catch vm_memory_monitor:get_memory_limit()], is_integer(N)].`

// rabbitLimits are the settings that are limits.
var rabbitLimits = map[string]string{
	"sockets_limit": "max_connections", "max_message_size": "max_payload_bytes", "memory_limit": "memory_alarm_bytes",
}

// askRabbitMQ reads version and configuration in force.
func askRabbitMQ(ctx context.Context, s *site, env []string) (*report, error) {
	out, err := s.output(ctx, env, filepath.Join(filepath.Dir(s.path), "rabbitmqctl"), "-q", "eval", rabbitQuestion)
	if err != nil {
		return nil, err
	}
	r := &report{Limits: make(map[string]int64)}
	for line := range strings.Lines(out) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		if key == "version" {
			r.Version = value
			continue
		}
		r.Config = append(r.Config, Setting{key, value, effective})
		if limit := rabbitLimits[key]; limit != "" {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				r.Limits[limit] = n
			}
		}
	}
	return r, nil
}
