//go:build linux

package main

import (
	"context"
	"errors"
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
	// gateway: it takes whole messages of MQTT and confirms them itself, and writes the head of each and then the rest, with Nagle's
	// algorithm on.
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
			if r.gateway {
				r.wg.Go(func() { forward(in, out) })
				r.wg.Go(func() { back(out, in) })
				continue
			}
			r.wg.Go(func() { r.carry(in, out, r.up) })
			r.wg.Go(func() { r.carry(out, in, r.down) })
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
func (r *relay) carry(from, to net.Conn, h hold) {
	defer func() { _, _ = from.Close(), to.Close() }()
	way := make(chan chunk, 4096)
	defer close(way)
	r.wg.Go(func() { write(to, way) })
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

// forward hands on what a client sends to a gateway.
func forward(client, broker net.Conn) {
	defer func() { _, _ = client.Close(), broker.Close() }()
	_ = broker.(*net.TCPConn).SetNoDelay(false)
	packets(client, func(p []byte) error {
		const publishQoS1, puback = 0x32, 0x40
		if p[0] == publishQoS1 { // of less than 128 bytes
			id := 4 + int(p[3])
			if _, err := client.Write([]byte{puback, 2, p[id], p[id+1]}); err != nil {
				return err
			}
		}
		_, head := broker.Write(p[:2])
		_, rest := broker.Write(p[2:])
		return errors.Join(head, rest)
	})
}

// back hands on what a broker sends to a gateway, but for what confirms its messages.
func back(broker, client net.Conn) {
	defer func() { _, _ = client.Close(), broker.Close() }()
	packets(broker, func(p []byte) (err error) {
		if p[0] != 0x40 {
			_, err = client.Write(p)
		}
		return err
	})
}

// packets hands on whole packets of MQTT until the connection ends.
func packets(from net.Conn, hand func([]byte) error) {
	var in []byte
	b := make([]byte, 1<<14)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		in = append(in, b[:n]...)
		for size := mqtt.Need(in); size > 0 && size <= len(in); size = mqtt.Need(in) {
			if hand(in[:size]) != nil {
				return
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
