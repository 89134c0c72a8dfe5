//go:build linux

package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/plan"
)

// What both sides do.
const (
	payloadBytes = 64
	topic        = "bench"
	pace         = 10 * time.Millisecond // from one message of a schedule to the next
	depth        = 64                    // unanswered commands where each is answered
)

// command is how a peer is run.
type command struct {
	args []string
	in   io.Reader
}

// peer is a load generator of others. A function that is nil means that it cannot do that, or not by itself.
type peer struct {
	name     string
	programs []string // names that it is installed under
	get      string   // how to get it
	broker   plan.Subject
	answered bool // the protocol answers each message
	// publish sends n messages as fast as it can, unanswered ones up to depth.
	publish func(at *url.URL, n int) command
	// idle holds n connections, most at most, that hear nothing, until it is ended.
	idle func(at *url.URL, n int) command
	most int
	// paced sends n messages, one each pace.
	paced func(at *url.URL, n int) command
	// latency sends n messages, each when the one before was answered; median reads the answer's time from what it prints.
	latency func(at *url.URL, n int) command
	median  func(out string) (time.Duration, error)
}

var (
	mosquitto = plan.Subject{Name: "mosquitto:tuned", Broker: "mosquitto", Variant: broker.Tuned, Protocol: plan.MQTT311, Runtime: broker.Process}
	redis     = plan.Subject{Name: "redis", Broker: "redis", Variant: broker.AsShipped, Protocol: plan.Redis, Runtime: broker.Process}
	nats      = plan.Subject{Name: "nats", Broker: "nats", Variant: broker.AsShipped, Protocol: plan.NATS, Runtime: broker.Embedded}
	rabbitmq  = plan.Subject{Name: "rabbitmq/amqp091", Broker: "rabbitmq", Variant: broker.AsShipped, Protocol: plan.AMQP091, Runtime: broker.Process}
)

var text = strings.Repeat("x", payloadBytes)

// seconds is how long n messages at pace take, rounded up.
func seconds(n int) string {
	return strconv.Itoa(int((time.Duration(n)*pace + time.Second - 1) / time.Second))
}

var peers = []peer{
	{
		name: "mosquitto_pub -l", programs: []string{"mosquitto_pub"}, get: "apt-get install mosquitto-clients", broker: mosquitto, most: 1,
		publish: func(at *url.URL, n int) command {
			line := text + "\n"
			return command{
				[]string{"-h", at.Hostname(), "-p", at.Port(), "-t", topic, "-l"},
				io.LimitReader(&repeated{line: []byte(line)}, int64(n*len(line))),
			}
		},
		idle: func(at *url.URL, _ int) command { // without a line it stays connected
			return command{args: []string{"-h", at.Hostname(), "-p", at.Port(), "-t", topic, "-k", "600", "-l"}}
		},
		paced: func(at *url.URL, n int) command {
			return command{args: []string{
				"-h", at.Hostname(), "-p", at.Port(), "-t", topic, "-m", text,
				"--repeat", strconv.Itoa(n), "--repeat-delay", strconv.FormatFloat(pace.Seconds(), 'g', -1, 64),
			}}
		},
	},
	{
		name: "redis-benchmark", programs: []string{"redis-benchmark"}, get: "apt-get install redis-tools", broker: redis, answered: true, most: 10_000,
		publish: func(at *url.URL, n int) command {
			return command{args: []string{
				"-h", at.Hostname(), "-p", at.Port(), "-c", "1", "-P", strconv.Itoa(depth), "-n", strconv.Itoa(n), "-q", "PUBLISH", topic, text,
			}}
		},
		idle: func(at *url.URL, n int) command {
			return command{args: []string{"-h", at.Hostname(), "-p", at.Port(), "-c", strconv.Itoa(n), "-I"}}
		},
		latency: func(at *url.URL, n int) command {
			return command{args: []string{"-h", at.Hostname(), "-p", at.Port(), "-c", "1", "-n", strconv.Itoa(n), "--csv", "PUBLISH", topic, text}}
		},
		median: redisMedian,
	},
	{
		name: "nats bench", programs: []string{"nats"}, get: "go install github.com/nats-io/natscli/nats@latest", broker: nats, most: 10_000,
		publish: func(at *url.URL, n int) command { return natsBench(at, "pub", 1, n, 0) },
		idle:    func(at *url.URL, n int) command { return natsBench(at, "sub", n, n*1000, 0) },
		paced:   func(at *url.URL, n int) command { return natsBench(at, "pub", 1, n, pace) },
	},
	{
		name: "rabbitmq-perf-test", programs: []string{"perf-test", "rabbitmq-perf-test"}, broker: rabbitmq, most: 1000,
		get: "download it from github.com/rabbitmq/rabbitmq-perf-test/releases and put it into PATH as perf-test",
		publish: func(at *url.URL, n int) command {
			return perfTest(at, "--producers", "1", "--consumers", "0", "--pmessages", strconv.Itoa(n))
		},
		idle: func(at *url.URL, n int) command {
			return perfTest(at, "--producers", "0", "--consumers", strconv.Itoa(n))
		},
		paced: func(at *url.URL, n int) command {
			return perfTest(at, "--producers", "1", "--consumers", "0", "--rate", strconv.Itoa(int(time.Second/pace)), "--pmessages", strconv.Itoa(n))
		},
	},
	{
		name: "emqtt_bench", programs: []string{"emqtt_bench"}, broker: mosquitto, most: 10_000,
		get: "build it: github.com/emqx/emqtt-bench (Erlang/OTP), then put it into PATH",
		publish: func(at *url.URL, n int) command {
			return command{args: []string{
				"pub", "-h", at.Hostname(), "-p", at.Port(), "-c", "1", "-I", "0", "-t", topic, "-s", strconv.Itoa(payloadBytes), "-L", strconv.Itoa(n),
			}}
		},
		idle: func(at *url.URL, n int) command {
			return command{args: []string{"conn", "-h", at.Hostname(), "-p", at.Port(), "-c", strconv.Itoa(n), "-i", "1"}}
		},
		paced: func(at *url.URL, n int) command {
			return command{args: []string{
				"pub", "-h", at.Hostname(), "-p", at.Port(), "-c", "1", "-I", strconv.FormatInt(pace.Milliseconds(), 10), "-t", topic,
				"-s", strconv.Itoa(payloadBytes), "-L", strconv.Itoa(n),
			}}
		},
	},
	{ // It publishes for a time, not a number of messages, and does not say how many a broker got.
		name: "mq-bench", programs: []string{"mq-bench"}, broker: mosquitto, most: 1000,
		get: "build it: github.com/hpcclab/mq-bench (Rust), then put it into PATH",
		idle: func(at *url.URL, n int) command {
			return mqBench(at, "sub", "--expr", topic, "--subscribers", strconv.Itoa(n))
		},
		paced: func(at *url.URL, n int) command {
			return mqBench(at, "pub", "--topic-prefix", topic, "--payload", strconv.Itoa(payloadBytes),
				"--rate", strconv.Itoa(int(time.Second/pace)), "--duration", seconds(n))
		},
	},
}

func perfTest(at *url.URL, args ...string) command {
	uri := "amqp://guest:guest@" + at.Host
	return command{args: append([]string{"--uri", uri, "--size", strconv.Itoa(payloadBytes), "--queue", topic, "--auto-delete", "true"}, args...)}
}

func mqBench(at *url.URL, role string, args ...string) command {
	return command{args: append([]string{role, "--engine", "mqtt", "--connect", "host=" + at.Hostname(), "--connect", "port=" + at.Port()}, args...)}
}

// natsBench knows both forms of the command line: since 0.2 publishers and subscribers have commands of their own.
func natsBench(at *url.URL, role string, clients, messages int, sleep time.Duration) command {
	common := []string{"--server", at.String(), "--size", strconv.Itoa(payloadBytes), "--msgs", strconv.Itoa(messages), "--no-progress"}
	args := []string{"bench", topic, "--" + role, strconv.Itoa(clients)}
	sleeping := "--pubsleep"
	if help, _ := exec.Command("nats", "bench", "--help").CombinedOutput(); !bytes.Contains(help, []byte("--pub=")) {
		args, sleeping = []string{"bench", role, topic, "--clients", strconv.Itoa(clients)}, "--sleep"
	}
	if sleep > 0 {
		common = append(common, sleeping, sleep.String())
	}
	return command{args: append(args, common...)}
}

// redisMedian reads the column p50_latency_ms.
func redisMedian(out string) (time.Duration, error) {
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) < 2 {
		return 0, errors.Join(errors.New("no table of times was printed"), err)
	}
	for i, name := range rows[0] {
		if name == "p50_latency_ms" && i < len(rows[1]) {
			ms, err := strconv.ParseFloat(rows[1][i], 64)
			return time.Duration(ms * float64(time.Millisecond)), err
		}
	}
	return 0, fmt.Errorf("there is no median among %q", rows[0])
}

// repeated reads a line again and again.
type repeated struct {
	line []byte
	at   int
}

// Read implements io.Reader.
func (r *repeated) Read(b []byte) (n int, err error) {
	for n < len(b) {
		k := copy(b[n:], r.line[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.line)
	}
	return n, nil
}
