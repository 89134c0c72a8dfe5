package broker

import (
	"context"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// mosquitto runs an installed Eclipse Mosquitto (https://mosquitto.org/man/mosquitto-conf-5.html).
//
// As shipped: a listener on the loopback interface for anybody. Every other setting is Mosquitto's own default; in
// particular TCP_NODELAY is off, at most 20 messages are in flight to a client and 1000 wait for it, and further ones
// are dropped. Persistence is off (a distribution's configuration file, which may turn it on, is not read).
//
// When clients speak over WebSocket there is a second listener, for that.
//
// Tuned: TCP_NODELAY on (without it answers wait up to 40 ms for a delayed ACK); no bound on messages in flight and
// waiting, so that no confirmed message is dropped; no $SYS topics and no line per connection, which cost time; and as
// many open files as the system allows (Linux), so that connections are not refused.
type mosquitto struct{}

// overWebSocket are the protocols for which a broker needs a listener for WebSocket.
var overWebSocket = []string{plan.MQTT5WS, plan.MQTT311WS}

var mosquittoVersion = regexp.MustCompile(`mosquitto version (\S+)`)

func (mosquitto) find(ctx context.Context, binary string) Finding {
	return findProgram(ctx, binary, "mosquitto", "mosquitto", "-h", mosquittoVersion)
}

func (mosquitto) prepare(s *site) (*program, error) {
	port, err := s.port()
	if err != nil {
		return nil, err
	}
	config := []Setting{
		{"listener", port + " " + loopback, asWritten},
		{"allow_anonymous", "true", asWritten},
	}
	p := &program{scheme: "mqtt", address: net.JoinHostPort(loopback, port), patience: 5 * time.Second}
	if s.tls {
		cert, key, err := s.certificate()
		if err != nil {
			return nil, err
		}
		p.scheme = "mqtts"
		config = append(config, Setting{"certfile", cert, asWritten}, Setting{"keyfile", key, asWritten})
	}
	if s.speaks(overWebSocket...) {
		port, err := s.port()
		if err != nil {
			return nil, err
		}
		p.also = []endpoint{{"ws", net.JoinHostPort(loopback, port)}}
		config = append(config,
			Setting{"listener", port + " " + loopback, asWritten},
			Setting{"protocol", "websockets", asWritten},
			Setting{"socket_domain", "ipv4", asWritten}) // without it libwebsockets listens on all interfaces
	}
	if os.Getuid() == 0 {
		// Started by root it becomes the user mosquitto, who may not enter our folder.
		config = append(config, Setting{"user", "root", asWritten})
	}
	config = append(config, mosquittoOptions(s)...)
	if s.bridge != nil {
		config = append(config, mosquittoBridge(s.bridge)...)
	}
	if s.variant == Tuned {
		p.started = raiseOpenFiles
	}
	path, err := s.file("mosquitto.conf", lines(config, " "))
	if err != nil {
		return nil, err
	}
	p.args, p.config = []string{"-c", path}, config
	return p, nil
}

// mosquittoOptions are the settings besides the listeners.
func mosquittoOptions(s *site) (config []Setting) {
	// Since 2.1 packets above 2,000,000 bytes are refused by default.
	if s.maxMessage > 1_900_000 {
		config = append(config, Setting{"max_packet_size", strconv.Itoa(s.maxMessage + 1<<17), asWritten})
	}
	switch s.persistence {
	case plan.PersistenceOn: // written when it ends in order, and every half an hour
		config = append(config,
			Setting{"persistence", "true", asWritten},
			Setting{"persistence_location", s.dir + "/", asWritten})
	case plan.PersistenceOff:
		config = append(config, Setting{"persistence", "false", asWritten})
	}
	if s.variant == Tuned {
		config = append(config,
			Setting{"set_tcp_nodelay", "true", asWritten},
			Setting{"max_inflight_messages", "0", asWritten},
			Setting{"max_queued_messages", "0", asWritten},
			Setting{"sys_interval", "0", asWritten},
			Setting{"connection_messages", "false", asWritten},
		)
	}
	return config
}

// lines writes settings as a configuration file.
func lines(config []Setting, between string) string {
	var b strings.Builder
	for _, c := range config {
		b.WriteString(c.Key + between + c.Value + "\n")
	}
	return b.String()
}
