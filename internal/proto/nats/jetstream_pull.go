package nats

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

const (
	// batch is how many messages are asked for at a time, as nats.go does.
	batch = 500
	// expires is how long a request for messages is good for.
	expires = 30 * time.Second
	// lost is how long after that its end must have been told.
	lost = 5 * time.Second
)

// consumer is one subscription.
type consumer struct {
	token   uint64
	name    string
	next    string // subject of requests for messages, and where they shall come to
	until   int64  // when everything that was asked for has come or expired
	pending int32  // messages asked for that have not come
	qos     uint8
	open    bool // it exists
}

// Subscribe appends the creation of a pull consumer for the topic. Delivered events carry the token of the subscription.
func (c *JetStream) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	switch {
	case !c.open:
		return out, errNotReady
	case s.QoS > 1:
		return out, errQoS2
	}
	if err := checkPattern([]byte(s.Topic)); err != nil {
		return out, err
	}
	owner := s.Group
	if owner == "" {
		owner = c.Name
	}
	k := consumer{token: s.Token, qos: s.QoS, name: token(owner + "." + s.Topic)}
	if len(k.name) > maxName {
		return out, fmt.Errorf("nats: %q of %q is too long for the name of a consumer", shorten([]byte(s.Topic)), owner)
	}
	number := string(appendUint(nil, uint64(len(c.consumers))))
	inbox := c.inbox + "d." + number
	k.next = api + "CONSUMER.MSG.NEXT." + c.stream.Name + "." + k.name + " " + inbox + " "
	out = append(append(append(out, "SUB "...), inbox...), ' ')
	out = appendUint(out, uint64(firstSid+len(c.consumers)))
	out = append(out, "\r\n"...)
	c.consumers = append(c.consumers, k)
	return c.request(out, "CONSUMER.CREATE."+c.stream.Name+"."+k.name+"."+s.Topic, "c"+number, c.stream.consumer(&k, s)), nil
}

// arrived acts on what came to a consumer's inbox: a message, or word on what was asked for.
func (c *JetStream) arrived(now int64, k *consumer, out []byte, ev *proto.Event) []byte {
	if code, text := status(c.headers); code != 0 {
		*ev = proto.Event{}
		return c.told(now, k, code, text, out, ev)
	}
	ev.Token, ev.QoS, ev.Redelivered = k.token, k.qos, isRedelivery(c.reply)
	if k.qos > 0 && !c.stream.HoldAcks && len(c.reply) > 0 {
		out = append(out, "PUB "...)
		out = append(out, c.reply...)
		out = append(out, " 4\r\n+ACK\r\n"...)
	}
	if k.pending--; k.pending <= batch/2 {
		out = c.pull(now, k, out)
	}
	return out
}

// pull asks for as many messages as are missing to a batch.
func (c *JetStream) pull(now int64, k *consumer, out []byte) []byte {
	missing := batch - max(k.pending, 0)
	k.pending, k.until = batch, now+int64(expires+lost)
	var b [64]byte
	body := append(b[:0], `{"batch":`...)
	body = appendUint(body, uint64(missing))
	body = append(body, `,"expires":`...)
	body = appendUint(body, uint64(expires))
	body = append(body, '}')
	out = append(out, "PUB "...)
	out = append(out, k.next...)
	out = appendUint(out, uint64(len(body)))
	out = append(out, "\r\n"...)
	out = append(out, body...)
	return append(out, "\r\n"...)
}

// Codes of a status, as HTTP has them.
const (
	statusIdle         = 100 // a heartbeat
	statusNone         = 404
	statusExpired      = 408
	statusConflict     = 409
	statusNoResponders = 503
)

// told acts on a status: the server says that a request for messages has ended.
func (c *JetStream) told(now int64, k *consumer, code uint64, text string, out []byte, ev *proto.Event) []byte {
	switch {
	case code == statusIdle:
		return out
	case code == statusNone, code == statusExpired, code == statusConflict && passes(text):
		k.pending -= c.unserved(k.pending)
		if k.pending <= batch/2 {
			out = c.pull(now, k, out)
		}
	case code == statusNoResponders:
		ev.Err = fmt.Errorf("nats: consumer %s is gone: nobody answers for it", k.name)
	default:
		ev.Err = fmt.Errorf("nats: consumer %s: server: %s", k.name, text)
	}
	return out
}

// passes recognises what ends a request for messages, and not the consumer, among conflicts (409). The texts are those of
// nats-server.
func passes(text string) bool {
	text = strings.ToLower(text)
	for _, start := range []string{"batch completed", "leadership change", "server shutdown", "message size exceeds"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// unserved reads from the last headers how many messages of a request did not come; all that are pending if the server
// does not say so.
func (c *JetStream) unserved(pending int32) int32 {
	_, after, found := bytes.Cut(c.headers, []byte("\r\nNats-Pending-Messages: "))
	digits, _, _ := bytes.Cut(after, []byte("\r\n"))
	if n, ok := parseUint(digits); found && ok && n <= uint64(max(pending, 0)) {
		return int32(n)
	}
	return pending
}

// status reads the first line of a header block, which has a code where the server itself speaks:
// NATS/1.0 408 Request Timeout. Code 0 = a message.
func status(headers []byte) (code uint64, text string) {
	rest, found := bytes.CutPrefix(headers, []byte("NATS/1.0 "))
	if !found || len(rest) < 3 {
		return 0, ""
	}
	code, _ = parseUint(rest[:3])
	if code != 0 {
		line, _, _ := bytes.Cut(rest[3:], []byte("\r\n"))
		text = string(shorten(bytes.TrimSpace(line)))
	}
	return code, text
}

// isRedelivery reads from the subject of an acknowledgement how often the message was delivered. Without and with the names
// of domain and account that subject is
//
//	$JS.ACK.stream.consumer.deliveries.sequence.sequence.time.pending
//	$JS.ACK.domain.account.stream.consumer.deliveries.sequence.sequence.time.pending.random
func isRedelivery(reply []byte) bool {
	place := 4
	if bytes.Count(reply, []byte(".")) >= 10 {
		place = 6
	}
	for range place {
		_, reply, _ = bytes.Cut(reply, []byte("."))
	}
	count, _, _ := bytes.Cut(reply, []byte("."))
	n, ok := parseUint(count)
	return ok && n > 1
}
