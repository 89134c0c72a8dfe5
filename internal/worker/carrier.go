package worker

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
)

// carriers are AMQP 0-9-1 connections that several clients share: each has a channel to itself, and takes it for a connection.
type carriers struct {
	cfg  amqp091.Config
	each int // clients of one connection
	name string
	mu   sync.Mutex
	all  []*carrier
}

func newCarriers(cfg *amqp091.Config, each int, name string) *carriers {
	c := &carriers{cfg: *cfg, each: each, name: name}
	c.cfg.Channels = each + 1
	return c
}

// take finds a connection with a free channel, or makes one by dial.
func (c *carriers) take(ctx context.Context, dial func() (net.Conn, error)) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := c.all[:0]
	for _, k := range c.all {
		if !k.dead() {
			alive = append(alive, k)
		}
	}
	c.all = alive
	for _, k := range c.all {
		if d := k.door(); d != nil {
			return d, nil
		}
	}
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	k := &carrier{conn: conn, session: amqp091.NewClient(&c.cfg, c.name), doors: map[uint16]*doorConn{}, ended: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	rest, err := accepted(conn, k.session)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	for n := range c.each {
		k.free = append(k.free, uint16(n+2))
	}
	c.all = append(c.all, k)
	go k.read(rest)
	go k.beat()
	return k.door(), nil
}

// close ends all connections; nil has none.
func (c *carriers) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.all {
		k.die(net.ErrClosed)
	}
}

// carrier is one connection that is shared.
type carrier struct {
	conn    net.Conn
	mu      sync.Mutex // guards what follows, and writing
	session *amqp091.Client
	doors   map[uint16]*doorConn
	free    []uint16
	out     []byte
	err     error         // why it is dead; nil = it is not
	ended   chan struct{} // closed when it is
}

func (k *carrier) dead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err != nil
}

// door gives a free channel away; nil = there is none.
func (k *carrier) door() *doorConn {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.free) == 0 || k.err != nil {
		return nil
	}
	channel := k.free[0]
	k.free = k.free[1:]
	d := &doorConn{Conn: k.conn, of: k, channel: channel, door: k.session.Door(channel), in: newInbox()}
	k.doors[channel] = d
	return d
}

// die ends the connection for all who share it.
func (k *carrier) die(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return
	}
	k.err = err
	close(k.ended)
	_ = k.conn.Close() // whoever is reading or writing notices
	for _, d := range k.doors {
		d.in.end(err)
	}
}

// read deals out what the broker sends, and what it has sent already, until the connection ends.
func (k *carrier) read(rest []byte) {
	buf := make([]byte, 64<<10)
	have := copy(buf, rest)
	for {
		n, err := k.conn.Read(buf[have:])
		have += n
		used := 0
		for err == nil {
			size, channel, bad := k.session.SplitFrame(buf[used:have])
			if err = bad; size == 0 {
				break
			}
			err = k.came(channel, buf[used:used+size])
			used += size
		}
		if err != nil {
			k.die(err)
			return
		}
		have = copy(buf, buf[used:have])
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// came handles one frame. What concerns the connection is for everybody.
func (k *carrier) came(channel uint16, raw []byte) error {
	if channel > 1 {
		k.deliver(channel, raw)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var ev proto.Event
	_, out, err := k.session.Feed(clock.Now(), raw, k.out[:0], &ev)
	k.out = out
	if len(out) > 0 {
		_, _ = k.conn.Write(out) // the reader hears of a broken connection, too
	}
	if channel == 0 {
		for _, d := range k.doors {
			d.in.add(raw)
		}
	}
	if err == nil && ev.Kind == proto.Closed {
		err = ev.Err
		if err == nil {
			err = engine.ErrClosed
		}
	}
	return err
}

func (k *carrier) deliver(channel uint16, raw []byte) {
	k.mu.Lock()
	d := k.doors[channel]
	var back []byte
	if d != nil {
		back = d.door.Came(raw, nil)
		k.release(d)
	}
	k.mu.Unlock()
	if len(back) > 0 {
		d.in.add(back)
		d.in.drain()
	}
}

// release takes a channel back that its client has left and the broker has closed.
func (k *carrier) release(d *doorConn) {
	if d.left && !d.door.Open() && k.doors[d.channel] == d {
		delete(k.doors, d.channel)
		k.free = append(k.free, d.channel)
	}
}

// beat sends heartbeats until the connection ends.
func (k *carrier) beat() {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-k.ended:
			return
		}
		k.mu.Lock()
		_, out, err := k.session.Tick(clock.Now(), k.out[:0])
		k.out = out
		if len(out) > 0 {
			_, _ = k.conn.Write(out)
		}
		k.mu.Unlock()
		if err != nil {
			k.die(err)
			return
		}
	}
}

// doorConn is one client's channel, as a connection.
type doorConn struct {
	net.Conn // that is shared
	of       *carrier
	channel  uint16
	door     *amqp091.Door
	in       *inbox
	left     bool
}

func (d *doorConn) Read(b []byte) (int, error) { return d.in.read(b) }

func (d *doorConn) Write(b []byte) (int, error) {
	k := d.of
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return 0, k.err
	}
	up, back, err := d.door.Sent(b, k.out[:0], nil)
	k.out = up[:0]
	if err == nil && len(up) > 0 {
		_, err = k.conn.Write(up)
	}
	d.in.add(back)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (d *doorConn) Close() error {
	k := d.of
	k.mu.Lock()
	defer k.mu.Unlock()
	d.in.end(net.ErrClosed)
	if d.left {
		return nil
	}
	d.left = true
	var err error
	if up := d.door.Leave(k.out[:0]); len(up) > 0 && k.err == nil {
		_, err = k.conn.Write(up)
	}
	k.release(d)
	return err
}

// The connection is shared: only reading, which waits for one client alone, can have an end.

func (d *doorConn) SetDeadline(t time.Time) error     { return d.SetReadDeadline(t) }
func (d *doorConn) SetWriteDeadline(time.Time) error  { return nil }
func (d *doorConn) SetReadDeadline(t time.Time) error { d.in.deadline(t); return nil }
