package amqp091

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

var errRejected = errors.New("amqp091: client rejected the message")

func appendU64(out []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(out, v) }

func (s *Server) openChannel(number uint16, ch *peerChannel, out []byte) ([]byte, error) {
	if ch != nil {
		return out, &fault{replyChannelError, channelOpen, "the channel is open already"}
	}
	ch = &peerChannel{number: number}
	ch.sent.reset()
	s.channels[number] = ch
	out, start := beginMethod(out, number, channelOpenOK)
	return endFrame(append(out, 0, 0, 0, 0), start), nil
}

// closing ends a channel because of an error of the peer; the connection goes on.
func (s *Server) closing(ch *peerChannel, code uint16, cause method, text string, out []byte) []byte {
	ch.closing = true
	out = ch.received.flush(ch.number, out)
	return appendClose(out, ch.number, code, reasons[code].name+" - "+text, cause)
}

// closeChannel answers channel.close. It is not consumed until the end of all consumers was reported.
func (s *Server) closeChannel(ch *peerChannel, n int, out []byte, ev *proto.Event) (int, []byte, error) {
	if token := s.anyConsumer(ch); token != 0 {
		delete(s.consumers, token)
		ev.Kind, ev.Token = proto.Unsubscribed, token
		return 0, out, nil
	}
	out = ch.received.flush(ch.number, out)
	s.forget(ch)
	return n, appendBare(out, ch.number, channelCloseOK), nil
}

// anyConsumer is the oldest consumer of a channel; 0 = none.
func (s *Server) anyConsumer(ch *peerChannel) (token uint64) {
	for t, c := range s.consumers {
		if c.channel == ch && (token == 0 || t < token) {
			token = t
		}
	}
	return token
}

// forget drops a channel, with consumers that nobody reported.
func (s *Server) forget(ch *peerChannel) {
	for token := s.anyConsumer(ch); token != 0; token = s.anyConsumer(ch) {
		delete(s.consumers, token)
	}
	delete(s.channels, ch.number)
}

// answer handles methods that want an answer. Declarations are all accepted.
func (s *Server) answer(ch *peerChannel, m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	var args []byte
	var ok method
	noWait, err := false, error(nil)
	switch m {
	case exchangeDeclare:
		r.u16()
		r.shortStr()
		r.shortStr()
		ok, noWait = exchangeDeclareOK, r.u8()&(1<<4) != 0
	case queueDeclare:
		ok = queueDeclareOK
		args, noWait = s.declareQueue(ch, r)
	case queueBind:
		ok = queueBindOK
		noWait, err = s.bindQueue(ch, r)
	case basicQos:
		r.u32()
		ch.prefetch = r.u16()
		ok = basicQosOK
	case basicConsume:
		ok = basicConsumeOK
		args, noWait, err = s.consume(ch, r, ev)
	case basicCancel:
		ok = basicCancelOK
		args, noWait = s.cancel(ch, r, ev)
	case confirmSelect:
		ch.confirming = true
		ok, noWait = confirmSelectOK, r.u8()&1 != 0
	case channelFlow:
		active := r.u8() & 1
		ch.paused = active == 0
		ok, args = channelFlowOK, []byte{active}
	case channelFlowOK, basicCancelOK:
		return out, nil
	default:
		return out, &fault{replyNotImplemented, m, "this server does not have it"}
	}
	switch {
	case err != nil:
		return out, err
	case r.short:
		return out, errMalformed(m)
	case noWait:
		return out, nil
	}
	out, start := beginMethod(out, ch.number, ok)
	return endFrame(append(out, args...), start), nil
}

// declareQueue names the queue if the client did not.
func (s *Server) declareQueue(ch *peerChannel, r *reader) (args []byte, noWait bool) {
	r.u16()
	name, bits := string(r.shortStr()), r.u8()
	if r.short {
		return nil, false
	}
	if name == "" {
		name = fmt.Sprintf("amq.gen-%d", len(s.queues)+1)
	}
	ch.queue = name
	s.queue(name).exclusive = bits&(1<<2) != 0
	args = appendShort(nil, name)
	return append(args, 0, 0, 0, 0, 0, 0, 0, 0), bits&(1<<4) != 0 // no messages, no consumers
}

// queue is what is known of a queue. One that this connection has not declared may belong to another.
func (s *Server) queue(name string) *peerQueue {
	q := s.queues[name]
	if q == nil {
		q = &peerQueue{}
		s.queues[name] = q
	}
	return q
}

func (s *Server) bindQueue(ch *peerChannel, r *reader) (noWait bool, err error) {
	r.u16()
	name, exchange, key := string(r.shortStr()), string(r.shortStr()), string(r.shortStr())
	noWait = r.u8()&1 != 0
	if r.short {
		return false, nil
	}
	if name == "" {
		name = ch.queue
	}
	q := s.queue(name)
	if q.bound && (q.exchange != exchange || q.key != key) {
		return false, &fault{replyNotImplemented, queueBind, "this server allows one binding per queue"}
	}
	q.bound, q.exchange, q.key = true, exchange, key
	return noWait, nil
}

func (s *Server) consume(ch *peerChannel, r *reader, ev *proto.Event) (args []byte, noWait bool, err error) {
	r.u16()
	name, tag, bits := string(r.shortStr()), string(r.shortStr()), r.u8()
	if r.short {
		return nil, false, nil
	}
	if name == "" {
		name = ch.queue
	}
	s.lastToken++
	if tag == "" {
		tag = fmt.Sprintf("amq.ctag-%d", s.lastToken)
	}
	if s.findConsumer(ch, tag) != 0 {
		return nil, false, &fault{replyNotAllowed, basicConsume, "the consumer tag is in use"}
	}
	q := s.queue(name)
	topic := q.key
	if !q.bound {
		topic = name
	}
	noAck := bits&(1<<1) != 0
	s.consumers[s.lastToken] = &consumer{tag: tag, queue: name, channel: ch, noAck: noAck}
	ev.Kind, ev.Token, ev.Topic = proto.Subscribed, s.lastToken, []byte(topic)
	if !noAck {
		ev.QoS = 1
	}
	return appendShort(nil, tag), bits&(1<<3) != 0, nil
}

func (s *Server) cancel(ch *peerChannel, r *reader, ev *proto.Event) (args []byte, noWait bool) {
	tag := r.shortStr()
	noWait = r.u8()&1 != 0
	if token := s.findConsumer(ch, string(tag)); token != 0 && !r.short {
		delete(s.consumers, token)
		ev.Kind, ev.Token = proto.Unsubscribed, token
	}
	return appendShort(nil, tag), noWait
}

// findConsumer is the token of a consumer of a channel; 0 = there is none with this tag.
func (s *Server) findConsumer(ch *peerChannel, tag string) uint64 {
	for token, c := range s.consumers {
		if c.channel == ch && c.tag == tag {
			return token
		}
	}
	return 0
}
