package prototest_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// natsPair is a publisher, and a subscriber to busySubject.
type natsPair struct {
	send    func(subject string, n int) // returns when the server has handled all of them
	receive func(n int)
}

const (
	busySubject  = "bench.busy"
	quietSubject = "bench.quiet" // nobody subscribes to it
)

// BenchmarkNATS compares what a message of 64 bytes costs the client process: for the publisher alone, and from publisher
// through the installed server to subscriber. Messages go as fast as possible, in rounds that the server's buffers hold.
func BenchmarkNATS(b *testing.B) {
	pairs := []struct {
		name string
		open func(b *testing.B, addr string) natsPair
	}{{"lab", labNATSPair}, {"library", libraryNATSPair}}
	addr := installedNATS(b, "")
	for _, p := range pairs {
		b.Run("publish/"+p.name, func(b *testing.B) {
			pair := p.open(b, addr)
			perMessage(b, func(n int) { pair.send(quietSubject, n) })
		})
	}
	for _, p := range pairs {
		b.Run("through/"+p.name, func(b *testing.B) {
			pair := p.open(b, addr)
			perMessage(b, func(n int) {
				received := make(chan struct{})
				go func() {
					pair.receive(n)
					close(received)
				}()
				pair.send(busySubject, n)
				<-received
			})
		})
	}
}

// perMessage reports the CPU time of this process per message of a round.
func perMessage(b *testing.B, round func(n int)) {
	const n = 20_000
	messages, before := 0, cpuTime(b)
	for b.Loop() {
		round(n)
		messages += n
	}
	spent := cpuTime(b) - before
	b.ReportMetric(float64(messages)/spent.Seconds(), "msg/cpu-s")
	b.ReportMetric(float64(spent.Nanoseconds())/float64(messages), "cpu-ns/msg")
}

// cpuTime is what this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func labNATSPair(b *testing.B, addr string) natsPair {
	publisher, subscriber := nats.NewClient(&nats.Config{}), nats.NewClient(&nats.Config{})
	p, err := prototest.Dial(addr, publisher)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Next(patience); err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 0, 64<<10)
	send := func(subject string, n int) {
		m := proto.Message{Topic: []byte(subject), Payload: make([]byte, 64)}
		for n > 0 {
			err := p.Send(func([]byte) ([]byte, error) {
				out := buffer[:0]
				for ; n > 0 && cap(out)-len(out) > 200; n-- {
					if out, err = publisher.Publish(&m, out); err != nil {
						return out, err
					}
				}
				return out, nil
			})
			if err != nil {
				b.Error(err)
				return
			}
		}
		err := p.Send(func(out []byte) ([]byte, error) { return publisher.Barrier(1, out), nil })
		if err == nil {
			_, err = p.Next(patience)
		}
		if err != nil {
			b.Error(err)
		}
	}
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = p.Abort()
		_ = nc.Close()
	})
	r := &natsReader{session: subscriber, nc: nc, in: make([]byte, 0, 64<<10)}
	r.until(b, proto.Ready, 1)
	sub, _ := subscriber.Subscribe(&proto.Subscription{Topic: busySubject}, nil)
	if _, err := nc.Write(sub); err != nil {
		b.Fatal(err)
	}
	r.until(b, proto.Subscribed, 1)
	return natsPair{send, func(n int) { r.until(b, proto.Delivered, n) }}
}

// natsReader reads a session's socket with one buffer, as an engine does.
type natsReader struct {
	session *nats.Client
	nc      net.Conn
	in      []byte
}

// until reads until n events of this kind were reported.
func (r *natsReader) until(b *testing.B, kind proto.Kind, n int) {
	var ev proto.Event
	var answer []byte
	for {
		used := 0
		for n > 0 {
			m, out, err := r.session.Feed(0, r.in[used:], answer, &ev)
			if answer = out; err != nil {
				b.Error(err)
				return
			}
			if m == 0 {
				break
			}
			if used += m; ev.Kind == kind {
				n--
			}
		}
		r.in = r.in[:copy(r.in, r.in[used:])]
		if len(answer) > 0 {
			if _, err := r.nc.Write(answer); err != nil {
				b.Error(err)
				return
			}
			answer = answer[:0]
		}
		if n == 0 {
			return
		}
		m, err := r.nc.Read(r.in[len(r.in):cap(r.in)])
		if r.in = r.in[:len(r.in)+m]; err != nil {
			b.Error(err)
			return
		}
	}
}

func libraryNATSPair(b *testing.B, addr string) natsPair {
	connect := func() *natsgo.Conn {
		nc, err := natsgo.Connect("nats://" + addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		return nc
	}
	publisher, subscriber := connect(), connect()
	wanted, reached := make(chan int, 1), make(chan struct{})
	count, want := 0, 0
	sub, err := subscriber.Subscribe(busySubject, func(*natsgo.Msg) {
		if count == want {
			count, want = 0, <-wanted
		}
		if count++; count == want {
			reached <- struct{}{}
		}
	})
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = subscriber.Flush()
	}
	if err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 64)
	send := func(subject string, n int) {
		for range n {
			if err := publisher.Publish(subject, payload); err != nil {
				b.Error(err)
				return
			}
		}
		if err := publisher.Flush(); err != nil {
			b.Error(err)
		}
	}
	return natsPair{send, func(n int) {
		wanted <- n
		<-reached
	}}
}
