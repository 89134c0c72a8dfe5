//go:build linux

package main

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// hold says when bytes that came at t may go on, in ns; nil = at once. It is asked in the order of time.
type hold func(t int64) int64

// after is a way that takes d.
func after(d time.Duration) hold { return func(t int64) int64 { return t + int64(d) } }

// atBeacons hands on at multiples of a time only, as an access point does to a station that sleeps.
func atBeacons(every time.Duration) hold {
	return func(t int64) int64 { return t + (int64(every)-t%int64(every))%int64(every) }
}

// standing still for a length of time, every so often.
func standing(every, length time.Duration) hold {
	return func(t int64) int64 {
		if into := t % int64(every); into < int64(length) {
			return t - into + int64(length)
		}
		return t
	}
}

// gathering hands on what came until the first has waited for linger.
func gathering(linger time.Duration) hold {
	flush := int64(0)
	return func(t int64) int64 {
		if t > flush {
			flush = t + int64(linger)
		}
		return flush
	}
}

// relay stands between a client and a broker, and is what lies between them: a network, an access point, a gateway.
type relay struct {
	to       string
	up, down hold
	// gateway: it takes in whole packets of MQTT, and writes the head of each and then the rest, with Nagle's algorithm on.
	gateway  bool
	listener net.Listener
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

func (r *relay) open() (address string, err error) {
	if r.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return "", err
	}
	r.wg.Go(func() {
		for {
			in, err := r.listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp4", r.to)
			if err != nil {
				_ = in.Close()
				continue
			}
			r.keep(in, out)
			r.wg.Go(func() { r.carry(in, out, r.up, r.gateway) })
			r.wg.Go(func() { r.carry(out, in, r.down, false) })
		}
	})
	return r.listener.Addr().String(), nil
}

func (r *relay) keep(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, conns...)
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// chunk is bytes and when they may go on.
type chunk struct {
	bytes []byte
	at    int64
}

// carry moves bytes in one direction until either side ends.
func (r *relay) carry(from, to net.Conn, h hold, gateway bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	way := make(chan chunk, 4096)
	defer close(way)
	r.wg.Go(func() { write(to, way) })
	if gateway {
		_ = to.(*net.TCPConn).SetNoDelay(false)
		packets(from, way)
		return
	}
	for {
		b := make([]byte, 1<<14)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		now := clock.Now()
		c := chunk{b[:n], now}
		if h != nil {
			c.at = h(now)
		}
		way <- c
	}
}

// packets hands on whole packets, in two pieces.
func packets(from net.Conn, way chan<- chunk) {
	var in []byte
	b := make([]byte, 1<<14)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		in = append(in, b[:n]...)
		for size := mqtt.Need(in); size > 0 && size <= len(in); size = mqtt.Need(in) {
			head := min(2, size)
			way <- chunk{append([]byte(nil), in[:head]...), 0}
			if size > head {
				way <- chunk{append([]byte(nil), in[head:size]...), 0}
			}
			in = in[size:]
		}
	}
}

// write writes chunks when they may go on; it takes in the rest when the connection has ended.
func write(to net.Conn, way <-chan chunk) {
	var ended error
	for c := range way {
		if ended != nil {
			continue
		}
		clock.SleepUntil(c.at)
		_, ended = to.Write(c.bytes)
	}
}

// through opens a relay before a broker, for as long as ctx.
func (l *lab) through(ctx context.Context, variant string, r *relay) (address string, err error) {
	b, err := l.mosquitto(ctx, variant)
	if err != nil {
		return "", err
	}
	r.to = b.address()
	return r.open()
}
