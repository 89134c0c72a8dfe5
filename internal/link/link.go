package link

import "time"

// Profile is a link by name, both directions.
type Profile struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"` // in a sentence
	Up    Params `json:"up"`              // from device to broker
	Down  Params `json:"down"`            // from broker to device
	// Source is where the figures come from.
	Source string `json:"source,omitempty"`
}

// Direction is which way a packet goes.
type Direction int

// Directions.
const (
	Up   Direction = iota // from device to broker
	Down                  // from broker to device
)

func (d Direction) String() string {
	if d == Up {
		return "up"
	}
	return "down"
}

// OutageKind is how a link fails.
type OutageKind string

// Blackhole is the kind a Machine can do itself: packets vanish without a word, those in flight included.
const Blackhole OutageKind = "blackhole"

// Outage is a time during which a link fails. The same schedule hits every protocol at the same times, however many packets
// each of them sends.
type Outage struct {
	At   time.Duration `json:"at_ns"`  // since the start of the measurement
	For  time.Duration `json:"for_ns"` // how long
	Kind OutageKind    `json:"kind"`
}

// Count is a number of packets and of their bytes, IP headers included.
type Count struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

func (c *Count) add(bytes int) {
	c.Packets++
	c.Bytes += uint64(bytes)
}

func (c *Count) remove(bytes int) {
	c.Packets--
	c.Bytes -= uint64(bytes)
}

// Counters say what became of every packet of a direction. Each that was offered is in exactly one other of the first six:
// Offered = Carried + Lost + QueueDropped + Outage + InFlight, in packets and in bytes.
type Counters struct {
	Offered      Count `json:"offered"`
	Carried      Count `json:"carried"`       // arrived, duplicates not counted
	Lost         Count `json:"lost"`          // on the air
	QueueDropped Count `json:"queue_dropped"` // for want of room
	Outage       Count `json:"outage"`        // offered or in flight while the link was down
	InFlight     Count `json:"in_flight"`     // waiting or on the air now
	Duplicated   Count `json:"duplicated"`    // copies that arrived beside what was carried
	Corrupted    Count `json:"corrupted"`     // changed on the way; also in Carried or wherever they ended
	// Overrun are packets that the emulator was too slow to take. They were not offered, and a result with any is not valid.
	Overrun Count `json:"overrun"`
	// AirTime is how long the link was busy at its rate, lost packets included; what still waits is included, too.
	AirTime time.Duration `json:"air_time_ns"`
	// Waited is the sum of the times that accepted packets had to wait for the rate, LongestWait the longest of them.
	Waited      time.Duration `json:"waited_ns"`
	LongestWait time.Duration `json:"longest_wait_ns"`
}

// Observer is told of each packet that a backend offers to a link: when, its size, its first bytes (all headers of IPv4 and TCP) with
// the addresses that the device sees, and what becomes of it. It must be quick and must not keep head.
type Observer func(way Direction, at int64, size int, head []byte, v Verdict)

// Since is what became of the packets since an earlier reading. InFlight and LongestWait have no difference: they stay as they are.
func (c Counters) Since(before Counters) Counters {
	for _, x := range []struct{ now, before *Count }{
		{&c.Offered, &before.Offered},
		{&c.Carried, &before.Carried},
		{&c.Lost, &before.Lost},
		{&c.QueueDropped, &before.QueueDropped},
		{&c.Outage, &before.Outage},
		{&c.Duplicated, &before.Duplicated},
		{&c.Corrupted, &before.Corrupted},
		{&c.Overrun, &before.Overrun},
	} {
		x.now.Packets -= x.before.Packets
		x.now.Bytes -= x.before.Bytes
	}
	c.AirTime -= before.AirTime
	c.Waited -= before.Waited
	return c
}

// Config is what a backend opens a network with.
type Config struct {
	Profile Profile
	Seed    uint64
	// CongestionControl is the TCP algorithm that both ends shall use, where the backend has a say; empty = cubic if it can be
	// had, else reno.
	CongestionControl string
	// Log, if set, takes a line about something that the user may want to know.
	Log func(string)
}

// SeedOf is the seed of one direction: every backend takes it, so that they have the same losses.
func (c *Config) SeedOf(way Direction) uint64 {
	if way == Down {
		return ^c.Seed
	}
	return c.Seed
}

// Lateness is how much later than due an emulator handed over packets, over all of them.
type Lateness struct {
	Packets int64         `json:"packets"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Max     time.Duration `json:"max_ns"`
}

// Facts are what a backend has found out about itself. What is unknown is absent.
type Facts struct {
	Backend string `json:"backend"`
	// CongestionControl is the algorithm of TCP connections at both ends, read back.
	CongestionControl string `json:"congestion_control,omitempty"`
	// Scheduler is the class of the emulator's threads: rr (real-time) or other.
	Scheduler string `json:"scheduler,omitempty"`
	// Why tells the reason of something that is not as good as it could be, such as a scheduler class that was refused.
	Why  []string `json:"why,omitempty"`
	Late Lateness `json:"late"`
}
