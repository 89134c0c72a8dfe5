package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// errQuiet says that nothing happened within the time that was given.
var errQuiet = errors.New("the broker did not answer in time")

// errBlocked says that the broker stopped taking bytes.
var errBlocked = errors.New("the broker stopped reading, or did not answer")

// barrier is what a session has that can ask whether the broker has read all that was sent.
type barrier interface {
	Barrier(token uint64, out []byte) []byte
}

// delivery is a message that arrived.
type delivery struct {
	topic    string
	seq      uint64
	ours     bool
	size     int
	qos      uint8
	retained bool
}

// peer moves bytes between one session and one socket, in the goroutine of its caller, and notes what arrives. Errors are
// final, except errQuiet.
type peer struct {
	ctx      context.Context
	client   proto.Client
	nc       net.Conn
	tcp      *net.TCPConn // below TLS; nil in a place that has none
	in, out  []byte
	used     int
	tick     int64
	epoch    time.Time
	ev       proto.Event
	err      error
	token    uint64
	greeting []byte // the first unit that the broker sent
	resumed  bool
	got      []delivery
	acked    map[uint64]error // by token: nil, or the refusal
}

// open connects a client and waits until it is accepted.
func (l *lab) open(ctx context.Context, c proto.Client) (*peer, error) {
	nc, tcp, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	p := &peer{ctx: ctx, client: c, nc: nc, tcp: tcp, epoch: time.Now(), acked: map[uint64]error{}, token: 1 << 40}
	p.out = c.Open(0, nil)
	ev, err := p.expect(proto.Ready)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	p.resumed = ev.Resumed
	return p, nil
}

func (p *peer) now() int64 { return int64(time.Since(p.epoch)) }

// until is the moment that is d from now, or the end of the step if that is sooner.
func (p *peer) until(d time.Duration) time.Time {
	t := time.Now().Add(d)
	if end, ok := p.ctx.Deadline(); ok && end.Before(t) {
		return end
	}
	return t
}

// send writes all that is to be sent. The error is errBlocked if the broker does not take it, and the broker's last words if
// it said any.
func (p *peer) send() error {
	err := p.flush()
	if err == nil || errors.Is(err, errBlocked) {
		return err
	}
	p.err = nil
	p.err = p.farewell(err)
	return p.err
}

func (p *peer) flush() error {
	if p.err != nil || len(p.out) == 0 {
		return p.err
	}
	if err := p.nc.SetWriteDeadline(p.until(patience)); err != nil {
		p.err = err
		return err
	}
	_, err := p.nc.Write(p.out)
	p.out = p.out[:0]
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.err = errBlocked
	case err != nil:
		p.err = fmt.Errorf("write: %w", err)
	}
	return p.err
}

// farewell looks for the last words of a broker that closed the connection while we were writing.
func (p *peer) farewell(err error) error {
	for {
		ev, readErr := p.next(100 * time.Millisecond)
		switch {
		case readErr != nil && !errors.Is(readErr, errQuiet) && !errors.Is(readErr, io.EOF):
			return readErr
		case readErr != nil:
			return err
		case ev.Kind == proto.Closed && ev.Err != nil:
			return ev.Err
		}
	}
}

// next returns the next event, noting deliveries and acknowledgements; errQuiet if there is none within wait.
func (p *peer) next(wait time.Duration) (*proto.Event, error) {
	deadline := p.until(wait)
	for p.err == nil {
		n, out, err := p.client.Feed(p.now(), p.in[p.used:], p.out, &p.ev)
		if p.greeting == nil && n > 0 {
			p.greeting = append([]byte{}, p.in[p.used:p.used+n]...)
		}
		p.used, p.out, p.err = p.used+n, out, err
		if p.err == nil {
			if sendErr := p.flush(); sendErr != nil && p.ev.Kind == proto.None {
				return nil, sendErr
			}
		}
		switch {
		case p.err != nil && p.ev.Kind == proto.None:
		case p.ev.Kind != proto.None || p.ev.Err != nil:
			p.note()
			return &p.ev, nil
		case n == 0 && !time.Now().Before(deadline):
			return nil, errQuiet
		case n == 0:
			p.err = p.read(deadline)
		}
	}
	return nil, p.err
}

// note keeps what an event brought.
func (p *peer) note() {
	switch p.ev.Kind {
	case proto.Ready:
		p.tick = 0 // the broker may have set another keep-alive
	case proto.Delivered:
		d := delivery{topic: string(p.ev.Topic), size: len(p.ev.Payload), qos: p.ev.QoS, retained: p.ev.Retained}
		d.seq, d.ours = sequence(p.ev.Payload)
		p.got = append(p.got, d)
	case proto.Acked:
		p.acked[p.ev.Token] = p.ev.Err
	}
}

// read receives at least a byte, or returns at the deadline or when the session is to be ticked.
func (p *peer) read(deadline time.Time) error {
	if p.now() >= p.tick {
		next, out, err := p.client.Tick(p.now(), p.out)
		p.tick, p.out = next, out
		if err != nil {
			return err
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.in = append(p.in[:0], p.in[p.used:]...)
	p.used = 0
	if cap(p.in)-len(p.in) < 16<<10 {
		p.in = append(make([]byte, 0, 2*cap(p.in)+64<<10), p.in...)
	}
	if wake := p.epoch.Add(time.Duration(min(p.tick, int64(time.Hour)))); wake.Before(deadline) {
		deadline = wake
	}
	if err := p.nc.SetReadDeadline(deadline); err != nil {
		return err
	}
	n, err := p.nc.Read(p.in[len(p.in):cap(p.in)])
	p.in = p.in[:len(p.in)+n]
	switch {
	case n > 0 || errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the broker closed the connection: %w", io.EOF)
	}
	return fmt.Errorf("read: %w", err)
}

// expect waits for an event of a kind. The broker's goodbye is an error.
func (p *peer) expect(kind proto.Kind) (*proto.Event, error) {
	deadline := time.Now().Add(patience)
	for {
		ev, err := p.next(time.Until(deadline))
		switch {
		case err != nil:
			return nil, err
		case ev.Kind == kind:
			return ev, nil
		case ev.Kind == proto.Closed && ev.Err != nil:
			return nil, ev.Err
		case ev.Kind == proto.Closed:
			return nil, errors.New("the broker said goodbye")
		}
	}
}

// subscribe waits for the confirmation and returns the QoS that was granted.
func (p *peer) subscribe(topic, group string, qos uint8) (granted uint8, err error) {
	p.token++
	s := proto.Subscription{Token: p.token, Topic: topic, Group: group, QoS: qos}
	if p.out, err = p.client.Subscribe(&s, p.out); err != nil {
		return 0, err
	}
	if err := p.send(); err != nil {
		return 0, err
	}
	ev, err := p.expect(proto.Subscribed)
	if err != nil {
		return 0, err
	}
	return ev.QoS, ev.Err
}

// subscribed is p when its subscription is confirmed; a peer that is refused is closed.
func (p *peer) subscribed(topic, group string, qos uint8) (*peer, error) {
	if _, err := p.subscribe(topic, group, qos); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// publish waits for room and sends a message, without waiting for its acknowledgement.
func (p *peer) publish(m *proto.Message) (err error) {
	for p.client.Room(m.QoS) <= 0 {
		if _, err := p.next(patience); err != nil {
			return err
		}
	}
	if p.out, err = p.client.Publish(m, p.out); err != nil {
		return err
	}
	const batch = 32 << 10
	if m.QoS == 0 || len(p.out) >= batch || p.client.Room(m.QoS) <= 0 {
		return p.send()
	}
	return nil
}

// publishAll publishes messages first … first+n-1 and waits for their acknowledgements. It returns how many were accepted.
func (p *peer) publishAll(topic string, qos uint8, first, n uint64) (accepted int, err error) {
	for seq := first; seq < first+n; seq++ {
		if err := p.publish(message(topic, qos, seq)); err != nil {
			return 0, err
		}
	}
	if err := p.settle(); err != nil {
		return 0, err
	}
	if qos == 0 {
		return int(n), nil
	}
	for seq := first; seq < first+n; seq++ {
		for !p.answered(seq) {
			if _, err := p.next(patience); err != nil {
				return accepted, err
			}
		}
		if p.acked[seq] == nil {
			accepted++
		}
	}
	return accepted, nil
}

// confirmed publishes ten messages, and tells of how many the broker says that it has them.
func confirmed(pub *peer, topic, what, fate string) []Answer {
	const sent = 10
	accepted, err := pub.publishAll(topic, 1, 1, sent)
	if err != nil {
		return []Answer{decided(AskConfirms, "no", "%v", err)}
	}
	return []Answer{decided(AskConfirms, yesNo(accepted == sent), "of %d %s %d %s", sent, what, accepted, fate)}
}

func (p *peer) answered(token uint64) bool {
	_, ok := p.acked[token]
	return ok
}

// settle waits until the broker has read all that was sent. Where a protocol cannot ask for that, acknowledgements must tell.
func (p *peer) settle() error {
	b, can := p.client.(barrier)
	if !can {
		return p.send()
	}
	p.token++
	token := p.token
	p.out = b.Barrier(token, p.out)
	if err := p.send(); err != nil {
		return err
	}
	for {
		ev, err := p.expect(proto.Barrier)
		if err != nil || ev.Token == token {
			return err
		}
	}
}

// listen notes what arrives until it has been quiet for so long. The error is the end of the connection.
func (p *peer) listen(quiet time.Duration) error {
	for {
		switch _, err := p.next(quiet); {
		case errors.Is(err, errQuiet):
			return nil
		case err != nil:
			return err
		}
	}
}

// gather notes what arrives until n different messages of ours are there, or d is over. The error is the end of the connection.
func (p *peer) gather(n int, d time.Duration) error {
	deadline := p.until(d)
	for seen := map[uint64]bool{}; len(seen) < n; {
		_, err := p.next(time.Until(deadline))
		switch {
		case errors.Is(err, errQuiet):
			return nil
		case err != nil:
			return err
		}
		if len(p.got) > 0 && p.got[len(p.got)-1].ours {
			seen[p.got[len(p.got)-1].seq] = true
		}
	}
	return nil
}

// await notes what arrives until message seq is there.
func (p *peer) await(seq uint64) error {
	deadline := time.Now().Add(patience)
	for from := 0; ; {
		for ; from < len(p.got); from++ {
			if p.got[from].ours && p.got[from].seq == seq {
				return nil
			}
		}
		if _, err := p.next(time.Until(deadline)); err != nil {
			return err
		}
	}
}

// sequences are the numbers of the messages that arrived since the last call.
func (p *peer) sequences() []uint64 {
	var list []uint64
	for _, d := range p.got {
		if d.ours {
			list = append(list, d.seq)
		}
	}
	p.got = nil
	return list
}

// close ends the conversation as the protocol wants it.
func (p *peer) close() {
	p.out = p.client.Close(p.out)
	_ = p.send() // the peer may be gone
	_ = p.nc.Close()
}

// drop ends the connection without a word.
func (p *peer) drop() {
	if p.tcp != nil {
		_ = p.tcp.SetLinger(0)
	}
	_ = p.nc.Close()
}
