package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// image is how a broker runs in a container. References are of official images, with a tag that does not move; the key
// image of a subject takes another one, also by digest (name@sha256:…).
type image struct {
	reference string
	recipe    func(s *site) *recipe
}

// recipe is what a container is given.
type recipe struct {
	command   []string // behind the image's entry point; nil = the image's own
	env       []string
	files     map[string]string // path inside the container → content; read-only
	config    []Setting
	listeners []listening // the first is where publishers connect, unless their protocol has one of its own
	patience  time.Duration

	readBack     func(ctx context.Context, place netns.Place, address string) (*report, error)
	readBackPort uint16
}

// listening is a port inside a container and what is spoken at it.
type listening struct {
	scheme string
	port   uint16
}

// ports are all that are published.
func (r *recipe) ports() (numbers []uint16) {
	known := map[uint16]bool{}
	for _, l := range append(r.listeners, listening{port: r.readBackPort}) {
		if l.port != 0 && !known[l.port] {
			known[l.port] = true
			numbers = append(numbers, l.port)
		}
	}
	return numbers
}

// images are the containers of all brokers, as shipped and tuned like their processes (see the file of each).
var images = map[string]*image{
	"mosquitto": {"eclipse-mosquitto:2.0.22", mosquittoImage},
	"emqx":      {"emqx/emqx:5.8.9", emqxImage},
	"hivemq":    {"hivemq/hivemq-ce:2026.5", hiveMQImage},
	"rabbitmq":  {"rabbitmq:4.1.4", rabbitImage},
	"artemis":   {"apache/activemq-artemis:2.44.0", artemisImage},
	"nats":      {"nats:2.12.0", natsImage},
	"redis":     {"redis:8.2.1", redisImage},
	"zenoh":     {"eclipse/zenoh:1.9.0", zenohImage},
}

// everywhere is the interface that a broker in a container listens at: the engine publishes its ports on the loopback
// interface of the host alone.
const everywhere = "0.0.0.0"

func mosquittoImage(s *site) *recipe {
	const file = "/mqlab/mosquitto.conf"
	config := []Setting{{"listener", "1883 " + everywhere, asWritten}, {"allow_anonymous", "true", asWritten}}
	r := &recipe{listeners: []listening{{"mqtt", 1883}}, patience: 20 * time.Second}
	if s.speaks(overWebSocket...) {
		config = append(config, Setting{"listener", "9001 " + everywhere, asWritten}, Setting{"protocol", "websockets", asWritten})
		r.listeners = append(r.listeners, listening{"ws", 9001})
	}
	r.config = append(config, mosquittoOptions(s)...)
	r.command, r.files = []string{"mosquitto", "-c", file}, map[string]string{file: lines(r.config, " ")}
	return r
}

func natsImage(s *site) *recipe {
	const file = "/mqlab/nats.conf"
	config := append([]Setting{
		{"listen", strconv.Quote(everywhere + ":4222"), asWritten}, {"http", strconv.Quote(everywhere + ":8222"), asWritten},
	}, natsOptions(s)...)
	r := &recipe{
		command: []string{"-c", file}, listeners: []listening{{"nats", 4222}}, patience: 20 * time.Second,
		readBack: readVarz, readBackPort: 8222,
	}
	if s.speaks(natsStored...) {
		config = append(config, Setting{"jetstream", fmt.Sprintf("{ store_dir: %q }", s.dir+"/jetstream"), asWritten})
	}
	if s.speaks(natsMQTT) {
		r.listeners = append(r.listeners, listening{"mqtt", 1883})
		config = append(config,
			Setting{"server_name", natsName, asWritten},
			Setting{"mqtt", fmt.Sprintf("{ listen: %q }", everywhere+":1883"), asWritten})
	}
	r.files = map[string]string{file: lines(config, ": ")}
	if s.variant == Tuned {
		r.env, r.config = []string{goGC}, []Setting{goGCSetting}
	}
	return r
}

func redisImage(s *site) *recipe {
	return &recipe{
		command:   append([]string{"redis-server", "--protected-mode", "no", "--bind", everywhere}, redisOptions(s)...),
		listeners: []listening{{"redis", 6379}}, patience: 20 * time.Second,
		readBack: askRedis, readBackPort: 6379,
	}
}

// rabbitImage has the listeners of the image, 5672 and with the plug-in 1883. Its user guest may log in from elsewhere:
// to the container, everybody is.
func rabbitImage(s *site) *recipe {
	config := append([]Setting{{"loopback_users", "none", asWritten}}, rabbitSettings(s)...)
	r := &recipe{
		files:  map[string]string{"/etc/rabbitmq/conf.d/90-mqlab.conf": lines(config, " = "), "/etc/rabbitmq/enabled_plugins": rabbitPlugins(s)},
		config: config, listeners: []listening{{"amqp", 5672}}, patience: 2 * time.Minute,
	}
	if s.speaks(rabbitMQTT...) {
		r.listeners = append(r.listeners, listening{"mqtt", 1883})
	}
	if s.variant == Tuned {
		r.env = []string{"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=" + rabbitNoSpinning}
		r.config = append(r.config, Setting{"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS (environment)", rabbitNoSpinning, asWritten})
	}
	return r
}

func hiveMQImage(s *site) *recipe {
	config := hiveMQSettings(s, everywhere, "1883", "")
	r := &recipe{
		files:  map[string]string{"/opt/hivemq/conf/config.xml": hiveMQConfig(config)},
		config: config, listeners: []listening{{"mqtt", 1883}}, patience: 2 * time.Minute,
	}
	r.java("JAVA_OPTS", s, nil)
	return r
}

// artemisImage makes an instance with the image's own configuration, which anybody may use.
func artemisImage(s *site) *recipe {
	r := &recipe{
		env:       []string{"ARTEMIS_USER=mqlab", "ARTEMIS_PASSWORD=mqlab", "ANONYMOUS_LOGIN=true"},
		config:    []Setting{{"ANONYMOUS_LOGIN (environment)", "true", asWritten}},
		listeners: []listening{{"mqtt", 1883}}, patience: 2 * time.Minute,
	}
	if s.speaks(plan.AMQP10) {
		r.listeners = append(r.listeners, listening{"amqp", 5672})
	}
	var heap, options []string
	if s.variant == Tuned {
		heap, options = []string{"-Xms2g", "-Xmx2g"}, []string{"-Dbrokerconfig.maxDiskUsage=98"}
	}
	r.java("JAVA_ARGS_APPEND", s, heap, options...)
	return r
}

func zenohImage(s *site) *recipe {
	config := zenohSettings(s, everywhere+":7447")
	return &recipe{command: zenohArgs(config), config: config, listeners: []listening{{"zenoh", 7447}}, patience: 30 * time.Second}
}

// java sets the variable that holds the options of a Java runtime. A heap that follows from the machine takes the place
// of heap.
func (r *recipe) java(variable string, s *site, heap []string, options ...string) {
	flags, config := s.heapFlags()
	if len(flags) > 0 {
		heap = flags
	}
	text := strings.Join(append(slices.Clone(heap), options...), " ")
	if text == "" {
		return
	}
	r.env = append(r.env, variable+"="+text)
	r.config = append(append(r.config, Setting{variable + " (environment)", text, asWritten}), config...)
}

func emqxImage(s *site) *recipe {
	config := emqxSettings(s, everywhere+":"+strconv.Itoa(emqxPort))
	r := &recipe{config: config, listeners: []listening{{"mqtt", emqxPort}}, patience: 2 * time.Minute}
	for _, c := range config {
		r.env = append(r.env, emqxVariable(c))
	}
	return r
}
