//go:build linux

package main

// truth is a situation whose bottleneck is known because it was made so.
type truth struct {
	kind    string // what the verdict should be
	name    string
	brokers []string // each is a case of its own
	keys    [][]string
	starved float64 // CPU quota of the generator, in cores; 0 = none
	hogs    int     // processes that only use CPU, at the same time
}

// phases are short: the verdict must come from a few seconds.
var phases = []string{"phases.settle=100ms", "phases.warmup=500ms", "phases.measure=3s", "phases.drain=500ms", "repeat=1", "seed=1"}

var truths = []truth{
	{kind: "none", name: "healthy", brokers: []string{"mosquitto", "nats@process"}, keys: [][]string{
		{"load.rate=200/s", "load.publishers=2"},
		{"load.rate=1000/s", "load.publishers=20"},
		{"load.rate=200/s", "load.publishers=10", "load.payload=4KiB"},
	}},
	{kind: "broker_cpu", name: "CPU quota", brokers: []string{"mosquitto", "nats@process"}, keys: [][]string{
		{"load.rate=20000/s", "load.publishers=40", "machine={cpus: 0.05}"},
		{"load.rate=2000/s", "load.publishers=40", "load.pattern=fanout", "load.subscribers=20", "machine={cpus: 0.1}"},
		{"load.rate=20000/s", "load.publishers=100", "load.payload=1KiB", "machine={cpus: 0.1}"},
	}},
	{kind: "broker_thread", name: "one thread", brokers: []string{"mosquitto"}, keys: [][]string{
		{"load.rate=4000/s", "load.publishers=10", "load.payload=2KiB", "load.pattern=fanout", "load.subscribers=100"},
		{"load.rate=2000/s", "load.publishers=10", "load.payload=2KiB", "load.pattern=fanout", "load.subscribers=200"},
		{"load.rate=4000/s", "load.publishers=20", "load.payload=4KiB", "load.pattern=fanout", "load.subscribers=100"},
	}},
	{kind: "memory", name: "memory limit", brokers: []string{"mosquitto"}, keys: [][]string{
		{"load.rate=500/s", "load.publishers=10", "load.payload=64KiB", "load.qos=1", "subscriber.hold_acks=true", "machine={memory: 24MiB}"},
		{"load.rate=500/s", "load.publishers=20", "load.payload=32KiB", "load.qos=1", "subscriber.hold_acks=true", "machine={memory: 32MiB}"},
		{"load.rate=200/s", "load.publishers=5", "load.payload=256KiB", "load.qos=1", "subscriber.hold_acks=true", "machine={memory: 48MiB}"},
	}},
	{kind: "link", name: "slow link", brokers: []string{"mosquitto", "nats@process"}, keys: [][]string{
		{"load.rate=500/s", "load.publishers=5", "network.rate=256kbit/s", "network.delay=20ms"},
		{"load.rate=300/s", "load.publishers=20", "load.payload=1KiB", "network.rate=1Mbit/s", "network.delay=5ms"},
		{"load.rate=100/s", "load.publishers=1", "load.payload=4KiB", "network.up.rate=500kbit/s", "network.delay=10ms"},
	}},
	{kind: "window", name: "window over a delay", brokers: []string{"mosquitto"}, keys: [][]string{
		{"load.rate=200/s", "load.publishers=1", "load.qos=1", "load.window=1", "network.delay=10ms"},
		{"load.rate=1000/s", "load.publishers=10", "load.qos=1", "load.window=1", "network.delay=10ms"},
		{"load.rate=1000/s", "load.publishers=4", "load.qos=1", "load.window=4", "network.delay=20ms"},
	}},
	{kind: "generator", name: "starved generator", brokers: []string{"mosquitto", "nats@process"}, starved: 0.03, keys: [][]string{
		{"load.rate=2000/s", "load.publishers=20"},
		{"load.rate=5000/s", "load.publishers=50"},
		{"load.rate=1000/s", "load.publishers=5", "load.payload=1KiB"},
	}},
	{kind: "host", name: "others use the cores", brokers: []string{"mosquitto", "nats@process"}, hogs: 12, keys: [][]string{
		{"load.rate=2000/s", "load.publishers=20"},
		{"load.rate=5000/s", "load.publishers=50"},
		{"load.rate=1000/s", "load.publishers=5", "load.payload=1KiB"},
	}},
}
