// Link measures the link emulator itself, in real time: go run ./bench/link. It takes root, or whatever else lets backend tun work,
// and a machine that is not busy; every figure is printed beside what it should be.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/netns"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	good := true
	for _, step := range []func(context.Context) (bool, error){accuracy, bursts, sequence, ceiling} {
		ok, err := step(ctx)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		good = good && ok
	}
	if !good {
		os.Exit(4)
	}
}

// packets is how many probes go in each direction.
const packets = 20_000

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// accuracy: 300 ± 50 ms, 5 % loss, 256 kbit/s.
func accuracy(ctx context.Context) (bool, error) {
	p := link.Params{Delay: ms(300), Jitter: ms(50), Order: link.OrderFlow, Loss: 0.05, Rate: 256_000, QueueBytes: 32_000}
	return check(ctx, "300 ± 50 ms, 5 %, 256 kbit/s with a second of queue", p)
}

// bursts: losses four in a row.
func bursts(ctx context.Context) (bool, error) {
	return check(ctx, "20 ± 2 ms normal, 5 % in bursts of 4", link.Params{Delay: ms(20), Jitter: ms(2), Distribution: link.Normal, Loss: 0.05, Burst: 4})
}

func check(ctx context.Context, title string, p link.Params) (bool, error) {
	profile := link.Profile{Name: "bench", Up: p, Down: p}
	n, err := tun.Open(ctx, link.Config{Profile: profile, Seed: 1})
	if err != nil {
		return false, err
	}
	defer func() { _ = n.Close() }()
	r, err := linktest.Run(ctx, n, profile, linktest.Options{Packets: packets})
	if err != nil {
		return false, err
	}
	fmt.Printf("%s, %d packets each way, in %v\n", title, packets, r.Took.Round(time.Millisecond))
	fmt.Printf("  %-5s %-10s %14s %14s %31s %8s %6s\n", "", "", "configured", "achieved", "95 % interval", "samples", "")
	for _, c := range r.Checks {
		verdict := "ok"
		if !c.Pass {
			verdict = "OFF"
		}
		fmt.Printf("  %-5s %-10s %14.6g %14.6g %15.6g %15.6g %8d %6s", c.Direction, c.What, c.Configured, c.Achieved, c.Interval.Low, c.Interval.High, c.Samples, verdict)
		if half := c.Interval.High - c.Achieved; (c.What == linktest.Loss || c.What == linktest.Burst) && half > 0 {
			fmt.Printf("  z %+.2f", (c.Achieved-c.Configured)/(half/1.96))
		} else if c.Configured > 0 {
			fmt.Printf("  %+.3f %%", 100*(c.Achieved/c.Configured-1))
		}
		fmt.Println()
	}
	f := n.Facts()
	fmt.Printf("  late p50 %v, p99 %v, max %v; overrun %d; scheduler %s; congestion control %s\n  pass: %v %v\n\n",
		r.Late.P50, r.Late.P99, r.Late.Max, r.Overrun, f.Scheduler, f.CongestionControl, r.Pass, r.Why)
	return r.Pass, nil
}

// sequence: with the same seed the same packets are lost, whether they are small datagrams or a TCP connection's segments.
func sequence(ctx context.Context) (bool, error) {
	lost := func(seed uint64, traffic func(context.Context, *tun.Network) error) (numbers []bool, err error) {
		p := link.Params{Delay: ms(5), Jitter: ms(5), Loss: 0.05, Burst: 3}
		n, err := tun.Open(ctx, link.Config{Profile: link.Profile{Name: "bench", Up: p, Down: link.Params{Delay: ms(5)}}, Seed: seed})
		if err != nil {
			return nil, err
		}
		defer func() { _ = n.Close() }()
		var mu sync.Mutex
		n.Observe(func(way link.Direction, _ int64, _ int, _ []byte, v link.Verdict) {
			if way == link.Up {
				mu.Lock()
				numbers = append(numbers, v == link.LostOnAir)
				mu.Unlock()
			}
		})
		err = traffic(ctx, n)
		n.Observe(nil)
		mu.Lock()
		defer mu.Unlock()
		return numbers, err
	}
	datagrams, err := lost(7, sendDatagrams)
	if err != nil {
		return false, err
	}
	segments, err := lost(7, sendStream)
	if err != nil {
		return false, err
	}
	other, err := lost(8, sendDatagrams)
	if err != nil {
		return false, err
	}
	n := min(len(datagrams), len(segments), len(other))
	same, differ := 0, 0
	for i := range n {
		if datagrams[i] == segments[i] {
			same++
		}
		if datagrams[i] != other[i] {
			differ++
		}
	}
	fmt.Printf("same seed: of the first %d packets %d have the same fate, as datagrams and as segments of TCP; with another seed %d differ\n\n", n, same, differ)
	return same == n && n > 1000 && differ > 0, nil
}

const some = 3000

func sendDatagrams(ctx context.Context, n *tun.Network) error {
	c, err := n.Device().Dial(ctx, "udp", tun.Broker.String()+":9")
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for i := range some {
		if i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
		_, _ = c.Write(make([]byte, 40)) // that nobody listens is no matter
	}
	time.Sleep(ms(50)) // for the last to be offered
	return nil
}

func sendStream(ctx context.Context, n *tun.Network) error {
	l, err := n.Broker().Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, c)
		}
		ended <- err
	}()
	c, err := n.Device().Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		return err
	}
	if _, err := c.Write(make([]byte, some*1448)); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	return <-ended
}

// least is how many packets a second the emulator must carry.
const least = 50_000

// ceiling: how many small packets come through in one direction when there are always more.
func ceiling(ctx context.Context) (bool, error) {
	good := true
	for _, p := range []link.Params{{}, {Delay: ms(100)}} {
		rate, dropped, err := flood(ctx, p)
		if err != nil {
			return false, err
		}
		fmt.Printf("ceiling with a delay of %v: %.0f packets/s of 100 bytes; %d more were offered than taken\n", p.Delay, rate, dropped)
		good = good && rate >= least
	}
	return good, nil
}

func flood(ctx context.Context, p link.Params) (perSecond float64, dropped uint64, err error) {
	n, err := tun.Open(ctx, link.Config{Profile: link.Profile{Name: "bench", Up: p}, Seed: 1})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = n.Close() }()
	l, err := n.Broker().(netns.PacketPlace).ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = l.Close() }()
	c, err := n.Device().Dial(ctx, "udp", l.LocalAddr().String())
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = c.Close() }()
	const lasts = 5 * time.Second
	b := make([]byte, 72)
	start := time.Now()
	for time.Since(start) < lasts {
		for range 50 {
			if _, err := c.Write(b); err != nil {
				return 0, 0, err
			}
		}
	}
	up, _ := n.Counters()
	return float64(up.Carried.Packets) / time.Since(start).Seconds(), up.Overrun.Packets, nil
}
