package diagnose

import "slices"

// Cause is a named cause of excess latency.
type Cause string

// The causes.
const (
	None              Cause = "none"
	Unexplained       Cause = "unexplained"
	TooFew            Cause = "too_few"
	Lost              Cause = "messages_lost"      // messages never arrived; the others are fast enough
	LoopSleep         Cause = "loop_sleep"         // the network loop runs only between sleeps
	PollSleep         Cause = "poll_sleep"         // the client looks for messages at fixed moments
	DelayedAck        Cause = "delayed_ack"        // Nagle's algorithm waits for an acknowledgement that the peer delays
	Coalescing        Cause = "coalescing"         // messages are gathered before they are sent on
	WindowFull        Cause = "window_full"        // of unacknowledged messages
	BlockedCallback   Cause = "blocked_callback"   // messages wait for an earlier one's callback
	CallbackKeepAlive Cause = "callback_keepalive" // a callback longer than the keepalive
	GCPause           Cause = "gc_pause"
	CPUContention     Cause = "cpu_contention"
	Throttling        Cause = "throttling" // by a CPU quota
	Backlog           Cause = "backlog"
	MemoryGrowth      Cause = "memory_growth"
	KeepAlivePeriod   Cause = "keepalive_period"
	Periodic          Cause = "periodic"
	PacketLoss        Cause = "packet_loss"
	NotReading        Cause = "not_reading" // a receiver whose window was closed
	DiskWrite         Cause = "disk_write"  // a thread of the client in a synchronous write
	BrokerStall       Cause = "broker_stall"
	ResourceAlarm     Cause = "resource_alarm"
	PowerSave         Cause = "power_save" // of Wi-Fi
	DeadPeer          Cause = "dead_peer"  // a peer that was gone and not noticed
	ClockSkew         Cause = "clock_skew"
	Handshake         Cause = "handshake"
	GeneratorLate     Cause = "generator_late"
	HostNoise         Cause = "host_noise"
	Outage            Cause = "outage"    // the network or the broker was away
	LinkFull          Cause = "link_full" // the network's queue, for want of capacity
)

// needs says what evidence a cause can be decided by: any of them is enough.
var needs = map[Cause][]Source{
	LoopSleep: {Times}, PollSleep: {Times, Threads}, DelayedAck: {Times, Capture}, Coalescing: {Times, Capture},
	WindowFull: {Window}, BlockedCallback: {Callbacks}, CallbackKeepAlive: {Callbacks}, GCPause: {Pauses}, CPUContention: {RunQueue},
	Throttling: {RunQueue, Broker}, Backlog: {Times}, MemoryGrowth: {Memory}, KeepAlivePeriod: {Times}, Periodic: {Times},
	PacketLoss: {Capture, Sockets}, NotReading: {Capture}, DiskWrite: {Threads}, BrokerStall: {Broker}, ResourceAlarm: {Events}, PowerSave: {Times},
	DeadPeer: {Events, Capture}, ClockSkew: {Times}, Handshake: {Events, Times}, GeneratorLate: {Schedule}, HostNoise: {Control},
	Outage: {Events}, LinkFull: {Link},
}

// Causes are all that can be named, in the order of the constants above.
func Causes() []Cause {
	return []Cause{
		LoopSleep, PollSleep, DelayedAck, Coalescing, WindowFull, BlockedCallback, CallbackKeepAlive, GCPause, CPUContention, Throttling,
		Backlog, MemoryGrowth, KeepAlivePeriod, Periodic, PacketLoss, NotReading, DiskWrite, BrokerStall, ResourceAlarm, PowerSave, DeadPeer,
		ClockSkew, Handshake, GeneratorLate, HostNoise, Outage, LinkFull,
	}
}

// undecided are the causes that the input holds no evidence for or against.
func undecided(in *Input) (gaps []Gap) {
	for _, c := range Causes() {
		of := needs[c]
		if !slices.ContainsFunc(of, func(s Source) bool { return slices.Contains(in.Sources, s) }) {
			gaps = append(gaps, Gap{c, of[0]})
		}
	}
	return gaps
}
