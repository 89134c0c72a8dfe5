package link

// Verdict is what becomes of a packet as it is offered.
type Verdict uint8

// Verdicts.
const (
	Accepted     Verdict = iota // it is on its way
	LostOnAir                   // see Counters.Lost
	QueueFull                   // see Counters.QueueDropped
	DuringOutage                // see Counters.Outage
)

// Machine is one direction of a link. It is not safe for concurrent use. Times are nanoseconds of any monotonic clock and
// must not go backwards.
type Machine struct{}

// New returns an idle link. The same params and seed give the same sequence of verdicts and delays. Params must be valid.
func New(p Params, seed uint64) *Machine { return nil }

// Push offers a packet. Data is copied. Flow tells flows apart for OrderFlow; FlowOf finds it in an IP packet.
func (m *Machine) Push(now int64, data []byte, flow uint32) Verdict { return Accepted }

// Next returns when the next packet is due.
func (m *Machine) Next() (deadline int64, ok bool) { return 0, false }

// Pop returns the next packet that is due by now. It is valid until the next call of Push, Pop or SetDown.
func (m *Machine) Pop(now int64) (data []byte, ok bool) { return nil, false }

// SetDown begins or ends an outage of kind Blackhole.
func (m *Machine) SetDown(now int64, down bool) {}

// Schedule sets the outages of kind Blackhole to come, their times counted from start; they must be in order.
func (m *Machine) Schedule(start int64, outages []Outage) {}

// Change sets the properties for packets offered from now on; those accepted before keep the times they were given.
func (m *Machine) Change(now int64, p Params) {}

// Counters returns what became of the packets so far.
func (m *Machine) Counters() Counters { return Counters{} }

// FlowOf returns a number that is the same for all packets of a flow: of IP addresses, protocol and ports.
func FlowOf(packet []byte) uint32 { return 0 }
