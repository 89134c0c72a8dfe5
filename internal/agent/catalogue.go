// Package agent starts small programs around client libraries of other languages, speaks the agent protocol with them (agents/README.md),
// and takes what they used. A crashing, hanging or lying agent is an error of its trial, never of the lab.
package agent

import "slices"

// Language is what an agent is written in.
type Language string

// The languages.
const (
	C      Language = "C"
	CPP    Language = "C++"
	Python Language = "Python"
	Node   Language = "Node"
	Go     Language = "Go"
)

// Agent is a program around one client library.
type Agent struct {
	Name     string   // c-libmosquitto
	Language Language // of the library
	Library  string   // as people know it
	Protocol string   // mqtt, amqp091, nats, redis
	Floor    bool     // a socket and no library
	Sends    bool     // it can publish on a schedule
	source   string   // its file, of agents.Files; of Go its name there
	links    []string // libraries of C and C++
	imports  string   // of Python and Node: what must be there
	version  string   // of Python: the first digits that its version must have
	need     string   // the Debian package, or what else brings the library
}

// Protocols of agents.
const (
	MQTT    = "mqtt"
	AMQP091 = "amqp091"
	NATS    = "nats"
	Redis   = "redis"
)

var catalogue = []Agent{
	{Name: "c-floor", Language: C, Library: "socket", Protocol: MQTT, Floor: true, source: "c/floor.c", need: "gcc"},
	{Name: "c-libmosquitto", Language: C, Library: "libmosquitto", Protocol: MQTT, Sends: true, source: "c/libmosquitto.c", links: []string{"-lmosquitto"}, need: "libmosquitto-dev"},
	{Name: "cpp-mosquittopp", Language: CPP, Library: "mosquittopp", Protocol: MQTT, Sends: true, source: "cpp/mosquittopp.cpp", links: []string{"-lmosquittopp", "-lmosquitto"}, need: "libmosquittopp-dev"},
	{Name: "c-paho", Language: C, Library: "paho.mqtt.c", Protocol: MQTT, source: "c/paho.c", links: []string{"-lpaho-mqtt3as"}, need: "libpaho-mqtt-dev"},
	{Name: "cpp-paho", Language: CPP, Library: "paho.mqtt.cpp", Protocol: MQTT, source: "cpp/paho.cpp", links: []string{"-lpaho-mqttpp3", "-lpaho-mqtt3as"}, need: "libpaho-mqttpp-dev libpaho-mqtt-dev"},
	{Name: "go-floor", Language: Go, Library: "socket", Protocol: MQTT, Floor: true, source: "floor"},
	{Name: "go-paho3", Language: Go, Library: "paho.mqtt.golang", Protocol: MQTT, Sends: true, source: "paho3"},
	{Name: "go-paho5", Language: Go, Library: "paho.golang", Protocol: MQTT, source: "paho5"},
	{Name: "python-floor", Language: Python, Library: "socket", Protocol: MQTT, Floor: true, source: "python/floor.py", imports: "socket", need: "python3"},
	{Name: "python-paho", Language: Python, Library: "paho-mqtt 1.6", Protocol: MQTT, Sends: true, source: "python/paho_client.py", imports: "paho.mqtt", version: "1.", need: "python3-paho-mqtt"},
	{Name: "python-paho2", Language: Python, Library: "paho-mqtt 2", Protocol: MQTT, Sends: true, source: "python/paho_client.py", imports: "paho.mqtt", version: "2.", need: "scripts/agents"},
	{Name: "python-asyncio", Language: Python, Library: "asyncio-mqtt", Protocol: MQTT, source: "python/aio_client.py", imports: "asyncio_mqtt", need: "python3-asyncio-mqtt"},
	{Name: "node-floor", Language: Node, Library: "socket", Protocol: MQTT, Floor: true, source: "node/floor.js", imports: "net", need: "nodejs"},
	{Name: "node-mqttjs", Language: Node, Library: "MQTT.js", Protocol: MQTT, Sends: true, source: "node/mqttjs.js", imports: "mqtt", need: "node-mqtt, or scripts/agents"},
	{Name: "c-rabbitmq", Language: C, Library: "rabbitmq-c", Protocol: AMQP091, source: "c/rabbitmq.c", links: []string{"-lrabbitmq"}, need: "librabbitmq-dev"},
	{Name: "python-pika", Language: Python, Library: "pika", Protocol: AMQP091, source: "python/pika_consumer.py", imports: "pika", need: "python3-pika"},
	{Name: "go-amqp091", Language: Go, Library: "amqp091-go", Protocol: AMQP091, source: "amqp091"},
	{Name: "c-nats", Language: C, Library: "nats.c", Protocol: NATS, source: "c/nats.c", links: []string{"-lnats"}, need: "libnats-dev"},
	{Name: "c-hiredis", Language: C, Library: "hiredis", Protocol: Redis, source: "c/hiredis.c", links: []string{"-lhiredis"}, need: "libhiredis-dev"},
	{Name: "python-redis", Language: Python, Library: "redis-py", Protocol: Redis, source: "python/redis_subscriber.py", imports: "redis", need: "python3-redis"},
}

// All are the agents that there are, floors first among those of their language.
func All() []Agent { return slices.Clone(catalogue) }

// Named returns the agent with a name.
func Named(name string) (Agent, bool) {
	i := slices.IndexFunc(catalogue, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return catalogue[i], true
}

// FloorOf is the agent without a library that an agent's latency is compared with: that of its language, or of C.
func FloorOf(a Agent) Agent {
	for _, f := range catalogue {
		if f.Floor && (f.Language == a.Language || f.Language == C && a.Language == CPP) {
			return f
		}
	}
	return catalogue[0]
}
