// Package golang holds the agents for client libraries in Go. They are part of the program, so that they need no Go toolchain; each runs
// in a process of its own.
package golang

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mqlab/mqlab/internal/clock"
)

// Verb is the hidden verb of the program that runs an agent; its argument names one of libraries.
const Verb = "library"

// libraries are the agents by name: each connects, subscribes, calls ready and then received for every message.
var libraries = map[string]func(*agent) error{
	"floor": floor, "paho3": paho3, "paho5": paho5, "amqp091": amqp091,
}

// job is what the orchestrator asks for.
type job struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	Topic     string `json:"topic"`
	QoS       byte   `json:"qos"`
	ClientID  string `json:"client_id"`
	KeepAlive int    `json:"keepalive"`
	Samples   string `json:"samples"`
	Capacity  int    `json:"capacity"`
	WorkNS    int64  `json:"work_ns"`
	Callback  string `json:"callback"`
	TLSCA     string `json:"tls_ca"`
	NoDelay   int    `json:"nodelay"`
	Log       int    `json:"log"`

	Connections int    `json:"connections"`
	By          string `json:"by"` // not "": these are several
	Reconnect   string `json:"reconnect"`

	Publish      string `json:"publish"` // a topic to publish to on a schedule
	PublishQoS   byte   `json:"publish_qos"`
	Count        int    `json:"count"`
	IntervalNS   int64  `json:"interval_ns"`
	PayloadBytes int    `json:"payload_bytes"`
	WorkEvery    uint32 `json:"work_every"`
	Mix          int    `json:"mix"` // 1 = two messages at once, of QoS 0 and QoS 1
	Burst        int    `json:"burst"`
	BurstAt      int    `json:"burst_at"`
}

// clientID names one of several connections; of one it is that of the job.
func (j *job) clientID(i int) string {
	if j.Connections <= 1 {
		return j.ClientID
	}
	return fmt.Sprintf("%s-%d", j.ClientID, i)
}

func (j *job) address() string { return fmt.Sprintf("%s:%d", j.Host, j.Port) }

// agent keeps what a library delivers.
type agent struct {
	job
	in     *bufio.Reader
	out    io.Writer
	memory []byte // the file of samples
	taken  atomic.Int64
	drops  atomic.Int64
	queue  chan uint32
	send   func(payload []byte, qos byte) error // publishes; nil = the library's agent cannot
	before runtime.MemStats

	number    int // of the connection that is made now
	confirmed atomic.Int64
}

// The layout of the samples; see README.md of the agents.
const (
	headerSize   = 64
	recordSize   = 32
	received     = 1 // kinds of records
	sent         = 2
	queueLength  = 1024
	magic        = "MQLABSMP"
	offVersion   = 8
	offRecord    = 12
	offCapacity  = 16
	offCount     = 24
	offDropped   = 32
	sequenceFrom = 8 // ten digits of a payload
	sequenceTo   = 18
)

// Main is an agent's program. It returns the exit code.
func Main(args []string, stdin io.Reader, stdout io.Writer) int {
	a := &agent{in: bufio.NewReader(stdin), out: stdout}
	if len(args) != 1 || libraries[args[0]] == nil {
		return a.fail(errors.New("there is no such library"))
	}
	line, err := a.in.ReadBytes('\n')
	if err != nil {
		return 2
	}
	if err := json.Unmarshal(line, &a.job); err != nil {
		return a.fail(err)
	}
	if err := a.mapSamples(); err != nil {
		return a.fail(err)
	}
	if a.Callback == "queue" {
		a.queue = make(chan uint32, queueLength)
		go func() {
			for range a.queue {
				a.busy()
			}
		}()
	}
	name, version := library(args[0])
	a.say(map[string]any{"event": "hello", "protocol": 1, "library": name, "version": version, "pid": os.Getpid()})
	for a.number = range max(a.Connections, 1) {
		if err := libraries[args[0]](a); err != nil {
			return a.fail(err)
		}
	}
	if a.Publish != "" && a.send != nil {
		a.publish()
	}
	for {
		line, err := a.in.ReadString('\n')
		if err != nil || strings.TrimSpace(line) == "STOP" {
			break
		}
	}
	a.end()
	return 0
}

func (a *agent) say(event map[string]any) {
	b, err := json.Marshal(event)
	if err == nil {
		_, _ = a.out.Write(append(b, '\n'))
	}
}

func (a *agent) fail(err error) int {
	a.say(map[string]any{"event": "error", "what": err.Error()})
	return 1
}

// ready says that the subscription is confirmed: it is called once for each connection.
func (a *agent) ready() {
	if a.confirmed.Add(1) != int64(max(a.Connections, 1)) {
		return
	}
	runtime.ReadMemStats(&a.before)
	a.say(map[string]any{"event": "ready"})
}

// received is the body of a library's callback.
func (a *agent) received(payload []byte) {
	entered := clock.Now()
	seq := sequence(payload)
	switch {
	case a.queue != nil:
		select {
		case a.queue <- seq:
		default:
			a.drops.Add(1)
		}
	case a.WorkNS > 0 && seq%max(a.WorkEvery, 1) == 0:
		a.work()
	}
	a.keep(received, seq, entered, clock.Now(), int64(len(payload)))
}

func (a *agent) work() {
	if a.Callback == "block" {
		time.Sleep(time.Duration(a.WorkNS))
		return
	}
	a.busy()
}

func (a *agent) busy() {
	for end := clock.Now() + a.WorkNS; clock.Now() < end; {
	}
}

func sequence(payload []byte) (n uint32) {
	if len(payload) < sequenceTo {
		return 0
	}
	for _, c := range payload[sequenceFrom:sequenceTo] {
		n = n*10 + uint32(c-'0')
	}
	return n
}

// keep writes a record, and then counts it. Any goroutine may call it.
func (a *agent) keep(kind, seq uint32, x, y, z int64) {
	i := int(a.taken.Add(1)) - 1
	le := binary.LittleEndian
	if i >= a.Capacity || a.memory == nil {
		if a.memory != nil {
			a.counter(offDropped).Add(1)
		}
		return
	}
	r := a.memory[headerSize+recordSize*i:][:recordSize]
	le.PutUint32(r[4:], seq)
	le.PutUint64(r[8:], uint64(x))
	le.PutUint64(r[16:], uint64(y))
	le.PutUint64(r[24:], uint64(z))
	le.PutUint32(r, kind)
	a.counter(offCount).Add(1)
}

// counter is a count in the header, which is aligned as the memory of every mapping.
func (a *agent) counter(offset int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&a.memory[offset]))
}

// publish publishes on a schedule, after GO.
func (a *agent) publish() {
	line, err := a.in.ReadString('\n')
	var begin int64
	if _, scanErr := fmt.Sscanf(line, "GO %d", &begin); err != nil || scanErr != nil {
		return
	}
	payload := []byte(`{"seq":"0000000000","` + strings.Repeat("x", max(a.PayloadBytes-22, 0)) + `"}`)
	seq := uint32(0)
	for i := range a.Count {
		due := begin + int64(i)*a.IntervalNS
		for clock.Now() < due {
			clock.SleepUntil(due)
		}
		messages := 1 + a.Mix
		if a.Burst > 0 && i == a.BurstAt {
			messages += a.Burst
		}
		for k := range messages {
			qos := a.PublishQoS
			if a.Mix > 0 && k == 1 {
				qos = 1
			}
			message := bytes.Clone(payload) // the library may keep it for a while
			copy(message[sequenceFrom:], fmt.Sprintf("%010d", seq))
			began := clock.Now()
			if a.send(message, qos) != nil {
				return
			}
			a.keep(sent, seq, due, began, clock.Now())
			seq++
		}
	}
}

func (a *agent) end() {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	a.say(map[string]any{
		"event": "done", "samples": a.taken.Load(), "queue_drops": a.drops.Load(),
		"allocations": now.Mallocs - a.before.Mallocs, "allocated_bytes": now.TotalAlloc - a.before.TotalAlloc,
		"collections": now.NumGC - a.before.NumGC, "pause_ns": now.PauseTotalNs - a.before.PauseTotalNs,
	})
}

func (a *agent) keepAlive() time.Duration { return time.Duration(max(a.KeepAlive, 1)) * time.Second }
