package link

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// arrival is a packet as it came out.
type arrival struct {
	at     int64
	number uint32
}

// drive offers n packets of a size, one each gap, takes each out when it is due, and returns what arrived and the verdicts.
func drive(m *Machine, n, size int, gap time.Duration) (got []arrival, verdicts []Verdict) {
	packet := make([]byte, size)
	out := func(until int64) {
		for at, ok := m.Next(); ok && at <= until; at, ok = m.Next() {
			data, _ := m.Pop(at)
			got = append(got, arrival{at, binary.BigEndian.Uint32(data)})
		}
	}
	for i := range n {
		now := int64(i) * int64(gap)
		out(now)
		binary.BigEndian.PutUint32(packet, uint32(i))
		verdicts = append(verdicts, m.Push(now, packet, uint32(i)))
	}
	out(1 << 62)
	return got, verdicts
}

func TestPerfectLinkPassesAtOnce(t *testing.T) {
	m := New(Params{}, 1)
	if v := m.Push(7, []byte("abc"), 0); v != Accepted {
		t.Fatal(v)
	}
	if at, ok := m.Next(); !ok || at != 7 {
		t.Fatal(at, ok)
	}
	if data, ok := m.Pop(7); !ok || string(data) != "abc" {
		t.Fatalf("%q, %v", data, ok)
	}
	if _, ok := m.Next(); ok {
		t.Fatal("something is still under way")
	}
}

// TestPhysicalOrder: wait, serialise, travel, to the nanosecond.
func TestPhysicalOrder(t *testing.T) {
	m := New(Params{Delay: 300 * time.Millisecond, Rate: 8000, OverheadBytes: 10, QueueBytes: 330}, 1)
	packet := make([]byte, 100) // with its overhead 110 ms at 1 kB/s
	for i, want := range []Verdict{Accepted, Accepted, Accepted, QueueFull} {
		if v := m.Push(0, packet, 0); v != want {
			t.Errorf("packet %d: %v, not %v", i, v, want)
		}
	}
	if wait := m.Backlog(0); wait != 330*time.Millisecond {
		t.Errorf("backlog %v", wait)
	}
	if v := m.Push(110*ms, packet, 0); v != Accepted { // the first has left
		t.Errorf("room for one more: %v", v)
	}
	for i, want := range []int64{410, 520, 630, 740} {
		at, ok := m.Next()
		if _, early := m.Pop(at - 1); early || !ok || at != want*ms {
			t.Errorf("packet %d at %v, not %d ms (early %v)", i, time.Duration(at), want, early)
		}
		m.Pop(at)
	}
	c := m.Counters()
	if c.AirTime != 440*time.Millisecond || c.LongestWait != 220*time.Millisecond || c.Waited != 550*time.Millisecond {
		t.Errorf("%+v", c)
	}
}

// TestNetemOrder: in the kernel the delay of a packet runs while it waits for the rate, and the limit counts packets.
func TestNetemOrder(t *testing.T) {
	m := New(Params{Mode: NetEm, Delay: 300 * time.Millisecond, Rate: 8000, QueuePackets: 3}, 1)
	packet := make([]byte, 100)
	for i, want := range []Verdict{Accepted, Accepted, Accepted, QueueFull} {
		if v := m.Push(0, packet, 0); v != want {
			t.Errorf("packet %d: %v, not %v", i, v, want)
		}
	}
	got, _ := drive(m, 0, 0, 0)
	for i, want := range []int64{400, 500, 600} {
		if got[i].at != want*ms {
			t.Errorf("packet %d at %v, not %d ms", i, time.Duration(got[i].at), want)
		}
	}
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		order         Order
		flow, overall bool // arrive in order
	}{{OrderNone, false, false}, {OrderFlow, true, false}, {OrderLink, true, true}} {
		m := New(Params{Delay: 100 * time.Millisecond, Jitter: 50 * time.Millisecond, Order: c.order}, 1)
		packet := make([]byte, 4)
		const flows = 8
		for i := range 1000 {
			binary.BigEndian.PutUint32(packet, uint32(i))
			m.Push(int64(i)*ms, packet, uint32(i%flows))
		}
		got, _ := drive(m, 0, 0, 0)
		var last int
		var lastOf [flows]int
		flow, overall := true, true
		for _, a := range got {
			n := int(a.number)
			overall = overall && n >= last
			flow = flow && n >= lastOf[n%flows]
			last, lastOf[n%flows] = n, n
		}
		if flow != c.flow || overall != c.overall {
			t.Errorf("order %s: flow in order %v, link in order %v", c.order, flow, overall)
		}
	}
}

// TestLossIsAFunctionOfThePacketNumber: not of size, pace, delays or rate.
func TestLossIsAFunctionOfThePacketNumber(t *testing.T) {
	lost := func(p Params, seed uint64, size int, gap time.Duration) (numbers []int) {
		_, verdicts := drive(New(p, seed), 5000, size, gap)
		for i, v := range verdicts {
			if v == LostOnAir {
				numbers = append(numbers, i)
			}
		}
		return numbers
	}
	for _, burst := range []float64{0, 4} {
		want := lost(Params{Loss: 0.05, Burst: burst}, 42, 40, time.Millisecond)
		busy := Params{
			Loss: 0.05, Burst: burst, Delay: time.Second, Jitter: time.Second, Distribution: ParetoNormal, Correlation: 0.5,
			Rate: 1e9, Duplicate: 0.1, Corrupt: 0.1,
		}
		if got := lost(busy, 42, 1400, time.Second); !slices.Equal(got, want) {
			t.Errorf("burst %v: another sequence with other properties", burst)
		}
		if got := lost(busy, 43, 40, time.Millisecond); slices.Equal(got, want) {
			t.Errorf("burst %v: the same sequence with another seed", burst)
		}
	}
}

func TestSameSeedSameArrivals(t *testing.T) {
	for _, p := range samples() {
		a, _ := drive(New(p, 9), 2000, 200, time.Millisecond)
		b, _ := drive(New(p, 9), 2000, 200, time.Millisecond)
		if !slices.Equal(a, b) {
			t.Errorf("%+v: two runs differ", p)
		}
	}
}

// TestOutage: what has arrived stays arrived though nobody has fetched it; what is under way is lost and takes no more air time.
func TestOutage(t *testing.T) {
	for name, by := range map[string]struct {
		begin, end func(*Machine) error
	}{
		"call": {
			func(m *Machine) error { m.SetDown(450*ms, true); return nil },
			func(m *Machine) error { m.SetDown(650*ms, false); return nil },
		},
		"schedule": {
			func(m *Machine) error {
				return m.Schedule(300*ms, []Outage{{At: 150 * time.Millisecond, For: 200 * time.Millisecond, Kind: Blackhole}})
			},
			func(*Machine) error { return nil },
		},
	} {
		m := New(Params{Delay: 100 * time.Millisecond, Rate: 8000}, 1)
		m.Push(200*ms, make([]byte, 50), 0)  // arrives at 350 ms
		m.Push(400*ms, make([]byte, 100), 0) // would leave at 500 ms and arrive at 600 ms
		if err := by.begin(m); err != nil {
			t.Fatal(err)
		}
		if v := m.Push(649*ms, make([]byte, 1), 0); v != DuringOutage {
			t.Errorf("%s: offered during the outage: %v", name, v)
		}
		if err := by.end(m); err != nil {
			t.Fatal(err)
		}
		if v := m.Push(650*ms, make([]byte, 50), 0); v != Accepted {
			t.Errorf("%s: offered after the outage: %v", name, v)
		}
		got, _ := drive(m, 0, 0, 0)
		if len(got) != 2 || got[0].at != 350*ms || got[1].at != 800*ms {
			t.Errorf("%s: arrived %v", name, got)
		}
		c := m.Counters()
		if c.Carried != (Count{2, 100}) || c.Outage != (Count{2, 101}) || c.InFlight != (Count{}) || c.AirTime != 150*time.Millisecond {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestScheduleRefuses(t *testing.T) {
	for name, list := range map[string][]Outage{
		"overlap": {{At: 0, For: time.Second, Kind: Blackhole}, {At: time.Second / 2, For: time.Second, Kind: Blackhole}},
		"empty":   {{At: 0, Kind: Blackhole}},
		"kind":    {{At: 0, For: time.Second, Kind: "rst"}},
	} {
		if New(Params{}, 1).Schedule(0, list) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestChange(t *testing.T) {
	m := New(Params{Delay: 100 * time.Millisecond}, 1)
	m.Push(0, []byte{0, 0, 0, 1}, 0)
	m.Change(0, Params{Delay: 10 * time.Millisecond})
	m.Push(0, []byte{0, 0, 0, 2}, 0)
	got, _ := drive(m, 0, 0, 0)
	if want := []arrival{{10 * ms, 2}, {100 * ms, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// samples are parameters that between them use everything.
func samples() []Params {
	return []Params{
		{},
		{Delay: time.Millisecond, Jitter: time.Millisecond, Loss: 0.1, Duplicate: 0.2, Corrupt: 0.2},
		{Delay: time.Second, Jitter: time.Second, Distribution: Pareto, Order: OrderFlow, Loss: 0.2, Burst: 3, Rate: 1e5, QueueBytes: 3000},
		{Delay: time.Second, Jitter: time.Second, Distribution: Normal, Correlation: 0.9, Order: OrderLink, Duplicate: 1, Rate: 1e6, OverheadBytes: 38},
		{Jitter: time.Second, Distribution: ParetoNormal, Corrupt: 1, FixChecksum: true},
		{Mode: NetEm, Delay: time.Second, Jitter: time.Second, Loss: 0.2, LossCorrelation: 0.25, Duplicate: 0.2, Rate: 1e6, QueuePackets: 5},
		{Mode: NetEm, Delay: time.Second, Jitter: time.Second, Correlation: 0.25, Distribution: ParetoNormal, Loss: 0.2, Burst: 2},
	}
}

// conserved fails unless every packet that was offered is in exactly one place.
func conserved(t *testing.T, c Counters) {
	t.Helper()
	packets := c.Carried.Packets + c.Lost.Packets + c.QueueDropped.Packets + c.Outage.Packets + c.InFlight.Packets
	bytes := c.Carried.Bytes + c.Lost.Bytes + c.QueueDropped.Bytes + c.Outage.Bytes + c.InFlight.Bytes
	if c.Offered.Packets != packets || c.Offered.Bytes != bytes {
		t.Fatalf("offered %+v, accounted for %d packets, %d bytes: %+v", c.Offered, packets, bytes, c)
	}
}

// FuzzConservation does whatever the bytes say to a machine and checks its books after each step, in what arrived as well.
func FuzzConservation(f *testing.F) {
	for i := range samples() {
		f.Add(uint8(i), uint64(i), []byte("\x00\x05\x10\x80\x01\x22\x02\xff\x03\x01\x04\x90\x00\x7f\x05\x10\x01\xff"))
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64, steps []byte) {
		all := samples()
		m := New(all[int(which)%len(all)], seed)
		var now int64
		var came, copies Count
		packet := make([]byte, 4*256)
		for i := 0; i+1 < len(steps) && i < 4000; i += 2 {
			arg := int64(steps[i+1])
			switch steps[i] % 7 {
			case 0, 1:
				m.Push(now, packet[:4*arg], uint32(arg))
			case 2:
				now += arg * arg * arg * 1000
			case 3:
				for data, ok := m.Pop(now); ok; data, ok = m.Pop(now) {
					came.add(len(data))
				}
				if at, ok := m.Next(); ok && at <= now {
					t.Fatalf("a packet due at %d is left at %d", at, now)
				}
			case 4:
				m.SetDown(now, arg%2 == 0)
			case 5:
				m.Change(now, all[int(arg)%len(all)])
			case 6:
				_ = m.Schedule(now, []Outage{{At: time.Duration(arg) * 1e6, For: time.Duration(1+arg) * 1e6, Kind: Blackhole}})
			}
			c := m.Counters()
			conserved(t, c)
			copies = c.Duplicated
			if came.Packets != c.Carried.Packets+copies.Packets || came.Bytes != c.Carried.Bytes+copies.Bytes {
				t.Fatalf("came %+v, counted %+v and copies %+v", came, c.Carried, copies)
			}
		}
	})
}

func TestPushAndPopDoNotAllocate(t *testing.T) {
	for _, p := range samples() {
		m := New(p, 3)
		packet := make([]byte, 1400)
		var now int64
		turn := func() {
			now += 20 * ms
			m.Push(now, packet, uint32(now))
			for _, ok := m.Pop(now); ok; _, ok = m.Pop(now) {
			}
		}
		for range 50_000 {
			turn()
		}
		if n := testing.AllocsPerRun(10_000, turn); n != 0 {
			t.Errorf("%+v: %v allocations for a packet", p, n)
		}
	}
}

func BenchmarkMachine(b *testing.B) {
	for name, p := range map[string]Params{
		"perfect": {},
		"lpwan":   {Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.05, Order: OrderFlow, Rate: 1e9},
		"all": {
			Delay: 300 * time.Millisecond, Jitter: 50 * time.Millisecond, Distribution: ParetoNormal, Correlation: 0.5, Order: OrderFlow,
			Loss: 0.05, Burst: 4, Duplicate: 0.01, Corrupt: 0.01, FixChecksum: true, Rate: 1e9, OverheadBytes: 38,
		},
	} {
		b.Run(name, func(b *testing.B) {
			m := New(p, 1)
			packet := make([]byte, 600)
			packet[0] = 0x45
			packet[9] = protocolUDP
			var now int64
			turn := func() {
				now += 20_000 // 50,000 packets per second: 15,000 in flight
				m.Push(now, packet, FlowOf(packet))
				for _, ok := m.Pop(now); ok; _, ok = m.Pop(now) {
				}
			}
			for range 100_000 {
				turn()
			}
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}
