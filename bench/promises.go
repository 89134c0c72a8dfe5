//go:build linux

package main

import (
	"strconv"
	"time"
)

var claims = []claim{
	{
		name: "mqtt publish / C", want: 0.75,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: toC("lab-mqtt-publish", "publish"),
	},
	{
		name: "mqtt publish / mosquitto_pub", want: 20,
		needs: toolMissing("mosquitto_pub", nil),
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: against(own("lab-mqtt-publish"), mosquittoPub),
	},
	// Devices that share a core with the broker, as where cores are few: there each write hands the core to the receiver that it
	// wakes, and a batch of writes does so once.
	{ // at a rate, as devices publish; both send what is due every millisecond, and are equally late. It varies most, from 1.2 to 1.5
		name: "paced devices, io_uring / C", want: 1.3, needs: ringMissing,
		setUp: peerOn(generatorCore, "mqtt", "drain", "mqtt"), sample: devicesToC("lab-paced", "paced", devices),
	},
	{
		name: "100 devices, io_uring / C", want: 1.3, needs: ringMissing,
		setUp: peerOn(generatorCore, "mqtt", "drain", "mqtt"), sample: devicesToC("lab-devices-few", "devices", fewDevices),
	},
	{ // a thousand sockets do not fit into the caches: a program that does nothing but to fill a ring reaches 1.28
		name: "1,000 devices, io_uring / C", want: 1.3, needs: ringMissing,
		setUp: peerOn(generatorCore, "mqtt", "drain", "mqtt"), sample: devicesToC("lab-devices", "devices", devices),
	},
	{
		name: "4,000 devices, io_uring / C", want: 1.3, needs: ringMissing,
		setUp: peerOn(generatorCore, "mqtt", "drain", "mqtt"), sample: devicesToC("lab-devices-many", "devices", manyDevices),
	},
	// A core each: what is left to save is the call itself, beside a path through TCP that costs ten times as much.
	{
		name: "apart, paced, io_uring / C", want: 0.9, needs: ringMissing,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: devicesToC("lab-paced", "paced", devices),
	},
	{
		name: "apart, 1,000, io_uring / C", want: 0.9, needs: ringMissing,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: devicesToC("lab-devices", "devices", devices),
	},
	{
		name: "apart, 1,000, write / C", want: 0.9,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: devicesToC("lab-devices-write", "devices", devices),
	},
	{
		name: "mqtt receive / C", want: 0.7,
		setUp:  peerSite("mqtt", "blast", strconv.Itoa(runID), strconv.Itoa(smallBytes)),
		sample: toC("lab-mqtt-receive", "receive"),
	},
	{
		name: "mqtt publish / paho", want: 25,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: perCPU("lab-mqtt-publish", "paho-mqtt-publish"),
	},
	{
		name: "mqtt receive / paho", want: 30,
		setUp:  peerSite("mqtt", "blast", strconv.Itoa(runID), strconv.Itoa(smallBytes)),
		sample: perCPU("lab-mqtt-receive", "paho-mqtt-receive"),
	},
	{
		name: "nats publish / nats.go", want: 2,
		setUp: peerSite("nats", "drain", "nats"), sample: perCPU("lab-nats-publish", "nats-publish"),
	},
	{ // by what it does: the library's Publish in a loop; the tool itself measures no CPU time
		name: "nats publish / nats bench", want: 3,
		setUp: peerSite("nats", "drain", "nats"), sample: perCPU("lab-nats-publish", "nats-bench"),
	},
	{
		name: "amqp publish / amqp091-go", want: 50,
		setUp: peerSite("amqp", "drain", "amqp"), sample: perCPU("lab-amqp-publish", "amqp-publish"),
	},
	{ // connections in turn; the lab hands the writes of many to the kernel by one call. More than twenty fill more buffers than the broker empties in time
		name: "amqp one message a write", want: 5,
		needs: missing(rabbitmq), setUp: brokerSite(rabbitmq), sample: perCPU("lab-amqp-devices", "amqp-devices"),
	},
	{ // of one connection each write is a call: four fifths of the lab's time are the kernel's send, which both pay, which is why it stays below
		name: "amqp one connection's writes", want: 5,
		needs: missing(rabbitmq), setUp: brokerSite(rabbitmq), sample: perCPU("lab-amqp-apart", "amqp-publish"),
	},
	{
		name: "redis deep / go-redis", want: 3,
		needs: missing(redis), setUp: brokerSite(redis), sample: perCPU("lab-redis-deep", "redis-deep"),
	},
	{ // both wait for the server after every few messages, which costs both the same
		name: "redis shallow / go-redis", want: 1.5,
		needs: missing(redis), setUp: brokerSite(redis), sample: perCPU("lab-redis-shallow", "redis-shallow"),
	},
	{
		name: "redis / redis-benchmark -P 64", want: 0.85, needs: toolMissing("redis-benchmark", missing(redis)),
		setUp: brokerSite(redis), sample: against(own("lab-redis-shallow"), redisBenchmark(shallow)),
	},
	{
		name: "redis / redis-benchmark -P 512", want: 0.85, needs: toolMissing("redis-benchmark", missing(redis)),
		setUp: brokerSite(redis), sample: against(own("lab-redis-deep"), redisBenchmark(deep)),
	},
	{
		name: "idle mqtt connection", unit: "B", want: 350, atMost: true,
		needs: filesMissing(manyIdle), setUp: peerSite("mqtt", "drain", "mqtt"), sample: idleMemory,
	},
	{ // all that the kernel counts for the process, VmRSS
		name: "19,000 idle, resident", unit: "MiB", want: 20, atMost: true,
		needs: filesMissing(mostIdle), setUp: peerSite("mqtt", "drain", "mqtt"), sample: heldMemory("lab-most-idle"),
	},
	{ // of the process that holds most
		name: "50,000 idle, of 3 processes", unit: "MiB", want: 20, atMost: true,
		needs: filesMissing(mostIdle), setUp: peerSite("mqtt", "drain", "mqtt", strconv.Itoa(crewSize)), sample: heldMemory("lab-crew-idle"),
	},
	{
		name: "response p50 / C", want: 1.15, atMost: true,
		needs: missing(mosquitto), setUp: brokerSite(mosquitto),
		sample: latencyToC(func(f figures) time.Duration { return f.Response }),
	},
	{
		name: "kernel p50 / C", want: 1.05, atMost: true,
		needs: missing(mosquitto), setUp: brokerSite(mosquitto),
		sample: latencyToC(func(f figures) time.Duration { return f.Kernel }),
	},
	{
		name: "lateness p50", unit: "µs", want: 5, atMost: true,
		setUp: peerSite("mqtt", "drain", "mqtt"), sample: lateness("lab-lateness"),
	},
	{ // the quantum
		name: "lateness p50 of 10,000", unit: "µs", want: 100, atMost: true,
		needs: filesMissing(crowd), setUp: peerSite("mqtt", "drain", "mqtt"), sample: lateness("lab-crowd"),
	},
}
