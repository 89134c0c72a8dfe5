package resp

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// react does what makes more answers possible.
func react(s proto.Session, ev *proto.Event, out []byte) []byte {
	if client, ok := s.(proto.Client); ok && ev.Kind == proto.Ready {
		for token := range uint64(3) {
			out, _ = client.Publish(&proto.Message{Topic: []byte("a"), QoS: uint8(token % 2), Token: token}, out)
			out, _ = client.Subscribe(&proto.Subscription{Topic: []string{"a", "b", "c*"}[token], Token: token, QoS: 1}, out)
		}
	}
	if server, ok := s.(*Server); ok && ev.Kind == proto.Delivered {
		out, _ = server.Publish(&proto.Message{Topic: ev.Topic, Payload: ev.Payload, Sub: 1}, out)
	}
	return out
}

// however checks that the way bytes arrive in does not matter.
var however = prototest.Cut{React: react}

func FuzzPubSubFeed(f *testing.F) {
	const answers = ":0\r\n>3\r\n+subscribe\r\n+a\r\n:1\r\n:1\r\n-NOPERM no\r\n:3\r\n>3\r\n+psubscribe\r\n+c*\r\n:2\r\n"
	for _, in := range []string{
		answers + ">3\r\n$7\r\nmessage\r\n$3\r\na/b\r\n$5\r\nhello\r\n>4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$1\r\nc\r\n$0\r\n\r\n",
		"-ERR no\r\n!5\r\nE bad\r\n|1\r\n+a\r\n*2\r\n_\r\n#t\r\n(123\r\n,1.5\r\n~1\r\n=5\r\ntxt:a\r\n",
		">3\r\n$7\r\nmessage\r\n$3\r\na/b\r\n$5\r\nhello!!", "*-1\r\n$-1\r\n%0\r\n>1\r\n+pong\r\n", ":99999999999999999999\r\n",
	} {
		f.Add([]byte(in), uint64(1))
	}
	for _, in := range []string{"HTTP/1.1 400\r\n", "-ERR unknown command\r\n" + pong + "*3\r\n+subscribe\r\n+a\r\n:1\r\n", "-NOAUTH x\r\n", hello3 + "-LOADING\r\n"} {
		f.Add([]byte(in), uint64(2))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		open := func() proto.Session { return NewPubSub(&Config{}, "") }
		however.Same(t, open, in, seed)
		however.Same(t, open, append([]byte(hello3+pong), in...), seed)
		however.Same(t, func() proto.Session { return NewPubSub(&Config{RESP2: true}, "") }, append([]byte(pong), in...), seed)
	})
}

func FuzzStreamsFeed(f *testing.F) {
	const answers = "+1-0\r\n+OK\r\n+1-1\r\n-BUSYGROUP x\r\n+1-2\r\n-NOPERM no\r\n"
	for _, in := range []string{
		answers + "_\r\n%2\r\n$1\r\na\r\n*2\r\n" + entry("1-0", "d", "x") + entry("1-1", "k", "y") + "$1\r\nb\r\n*1\r\n*2\r\n+2-0\r\n_\r\n:2\r\n:1\r\n*-1\r\n",
		answers + "*1\r\n*2\r\n+b\r\n*1\r\n" + entry("1-0", "d", "x") + "-NOGROUP\r\n",
		answers + "*0\r\n%0\r\n%1\r\n+b\r\n*0\r\n>1\r\n+x\r\n",
	} {
		f.Add([]byte(in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		open := func() proto.Session { return NewStreams(&Config{MaxLen: 5, ClaimIdle: time.Second}, "me") }
		however.Same(t, open, in, seed)
		however.Same(t, open, append([]byte(hello3+pong), in...), seed)
		however.Same(t, open, append([]byte(hello3+pong+answers), in...), seed)
	})
}

func FuzzServerFeed(f *testing.F) {
	for _, in := range []string{
		words("PING") + words("SUBSCRIBE", "a", "b") + words("UNSUBSCRIBE") + words("PUBLISH", "a", "hello"),
		words("PSUBSCRIBE", "a*") + words("PUBLISH", "a", "hello") + words("QUIT"),
		words("HELLO", "3", "SETNAME", "x") + words("PSUBSCRIBE", "a*", "a*") + words("PUBLISH", "a", "hello") + words("PUNSUBSCRIBE", "a*"),
		words("AUTH", "x") + words("HELLO", "3", "AUTH", "a", "b") + words("CLIENT", "SETNAME", "x"),
		"*0\r\n*1\r\n$0\r\n\r\n*2\r\n$101\r\n", "GET / HTTP", "*1\r\n:5\r\n",
	} {
		f.Add([]byte(in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		for _, cfg := range []*ServerConfig{{MaxPayload: 100}, {Password: "x"}} {
			however.Same(t, func() proto.Session { return NewServer(cfg) }, in, seed)
		}
	})
}
