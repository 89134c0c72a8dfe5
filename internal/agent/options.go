package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Options are what an agent's program can be told besides where to connect. What is not there cannot be chosen for it.
type Options struct {
	Callback   []string // work is always there
	Loop       []string // how the library is run
	By         []string // how several connections are carried: by a thread each, or one loop; by processes is always possible
	Reconnect  []string // whether it subscribes again
	NoDelay    bool
	Log        bool
	TLS        bool
	GC         bool // of the runtime, and containers retained
	Preload    bool // another allocator
	Allocation bool // allocations can be counted by one put before the program

	NoNoDelay string // why there is no NoDelay, "" = nothing is known
}

// Ways of options.
const (
	ByThreads   = "threads"
	ByLoop      = "loop"
	ByProcesses = "processes"
	Resubscribe = "resubscribe"
	Plain       = "plain"
)

var (
	callbacks   = []string{"queue", "block"}
	loops       = []string{"start", "forever", "own", "sleep"}
	reconnects  = []string{Resubscribe, Plain}
	byThreads   = []string{ByThreads}
	byLoop      = []string{ByLoop}
	byBoth      = []string{ByThreads, ByLoop}
	inC         = Options{Callback: callbacks, By: byThreads, Preload: true, Allocation: true}
	inPython    = Options{Callback: callbacks, By: byThreads, TLS: true, GC: true, Preload: true, Allocation: true}
	inNode      = Options{Callback: callbacks, By: byLoop, TLS: true, Preload: true}
	inGo        = Options{Callback: callbacks, By: byThreads, TLS: true, NoDelay: true}
	withLoops   = func(o Options) Options { o.Loop = loops; return o }
	withBy      = func(o Options, by []string) Options { o.By = by; return o }
	withReturns = func(o Options) Options { o.Reconnect = reconnects; return o }
	withTLS     = func(o Options) Options { o.TLS = true; return o }
	withNoDelay = func(o Options) Options { o.NoDelay = true; return o }
	withoutNo   = func(o Options, why string) Options { o.NoNoDelay = why; return o }
	withLog     = func(o Options) Options { o.Log = true; return o }
)

// ofPaho: MQTTAsync_connectOptions of MQTTAsync.h has no field for it.
const ofPaho = "the library's connect options have no field for it"

// options are those of each agent.
var options = map[string]Options{
	"c-floor":         withNoDelay(withBy(inC, byBoth)),
	"c-libmosquitto":  withLog(withNoDelay(withTLS(withReturns(withLoops(withBy(inC, byBoth)))))),
	"cpp-mosquittopp": withLog(withNoDelay(withTLS(withReturns(inC)))),
	"c-paho":          withoutNo(withLog(withTLS(withReturns(withBy(inC, byLoop)))), ofPaho),
	"cpp-paho":        withoutNo(withTLS(withReturns(withBy(inC, byLoop))), ofPaho),
	"go-floor":        inGo,
	"go-paho3":        withLog(withReturns(inGo)),
	"go-paho5":        inGo,
	"python-floor":    withNoDelay(inPython),
	"python-paho":     withLog(withNoDelay(withReturns(withLoops(withBy(inPython, byBoth))))),
	"python-paho2":    withLog(withNoDelay(withReturns(withLoops(withBy(inPython, byBoth))))),
	"python-asyncio":  withLog(withNoDelay(withBy(inPython, byLoop))),
	"node-floor":      withNoDelay(inNode),
	"node-mqttjs":     withLog(withNoDelay(withReturns(inNode))),
	"c-rabbitmq":      withTLS(inC),
	"python-pika":     withLog(inPython),
	"go-amqp091":      inGo,
	"c-nats":          withTLS(inC),
	"c-hiredis":       inC,
	"python-redis":    inPython,
}

// Options are what the agent can be told.
func (a Agent) Options() Options { return options[a.Name] }

// Lacks is what a job asks for that the agent does not have, in words; "" = it has all of it.
func (a Agent) Lacks(j *Job) string {
	o := a.Options()
	for _, c := range []struct {
		flag, value string
		of          []string
	}{
		{"callback", j.Callback, o.Callback},
		{"loop", j.Loop, o.Loop},
		{"by", j.By, o.By},
		{"reconnect", j.Reconnect, o.Reconnect},
	} {
		if c.value != "" && !slices.Contains(c.of, c.value) {
			return fmt.Sprintf("it has no --%s %s", c.flag, c.value)
		}
	}
	for _, c := range []struct {
		asked, has bool
		what       string
	}{
		{j.NoDelay != 0, o.NoDelay, "option for TCP_NODELAY"},
		{j.Log != 0, o.Log, "log"},
		{j.TLSCA != "", o.TLS, "TLS"},
		{j.GC != "" || j.Retain > 0, o.GC, "--gc and --retain: those are of Python"},
	} {
		if c.asked && !c.has {
			why := ""
			if o.NoNoDelay != "" && j.NoDelay != 0 && !o.NoDelay {
				why = ": " + o.NoNoDelay
			}
			return "it has no " + c.what + why
		}
	}
	return ""
}

// String lists the options, as flags.
func (o Options) String() string {
	var list []string
	for _, c := range []struct {
		flag string
		of   []string
	}{{"callback", o.Callback}, {"loop", o.Loop}, {"by", append(slices.Clone(o.By), ByProcesses)}, {"reconnect", o.Reconnect}} {
		if len(c.of) > 0 {
			list = append(list, c.flag+"="+strings.Join(c.of, "|"))
		}
	}
	for _, c := range []struct {
		has  bool
		flag string
	}{{o.NoDelay, "nodelay"}, {o.Log, "log"}, {o.TLS, "tls"}, {o.GC, "gc"}, {o.GC, "retain"}, {o.Preload, "allocator"}} {
		if c.has {
			list = append(list, c.flag)
		}
	}
	return strings.Join(list, " ")
}
