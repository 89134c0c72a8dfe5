package amqp091

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		"SASL mechanism":        {Mechanism: "GSSAPI"},
		"heartbeat":             {Heartbeat: 20 * time.Hour},
		"heartbeat -1s":         {Heartbeat: -time.Second},
		"frame_max 100":         {FrameMax: 100},
		"window -1":             {Window: -1},
		"prefetch 65536":        {Prefetch: 65536},
		"every -1":              {AckEvery: -1},
		"prefetch of 2":         {Prefetch: 2, AckEvery: 3},
		"default exchange":      {Exchange: Exchange{Kind: "topic"}},
		"is a int":              {Queue: Queue{Arguments: Table{{"x-max-length", 5}}}},
		"name of argument \"\"": {Exchange: Exchange{Arguments: Table{{"", true}}}},
		"is a float64":          {Queue: Queue{Arguments: Table{{"x", Table{{"y", 1.5}}}}}},
		"more than 255 bytes":   {VHost: string(make([]byte, 256))},
	} {
		says(t, c.Validate(), want)
	}
	full := Config{
		Mechanism: "EXTERNAL", Heartbeat: time.Minute, FrameMax: minFrame, Prefetch: 65535, AckEvery: 10, Window: 1,
		Queue: Queue{Type: "quorum", Arguments: Table{{"x-max-length", int64(5)}, {"x-overflow", "reject-publish"}}},
	}
	if err := full.Validate(); err != nil {
		t.Error(err)
	}
}

func TestTable(t *testing.T) {
	want := Table{{"s", "text"}, {"yes", true}, {"in", Table{{"no", false}, {"empty", ""}}}}
	b := appendTable(nil, want)
	foreign := "\x01i" + "I\x00\x00\x00\x01" + "\x01v" + "V" + "\x01a" + "A\x00\x00\x00\x02t\x01" + "\x01d" + "D\x02\x00\x00\x00\x01" + "\x01l" + "l\x00\x00\x00\x00\x00\x00\x00\x01"
	got, err := readTable(append(b[4:], foreign...), 2)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if got.text("s") != "text" || got.text("yes") != "" || got.get("none") != nil {
		t.Error("wrong values by name")
	}
	deep := Table{}
	for range 10 {
		deep = Table{{"t", deep}}
	}
	for _, bad := range [][]byte{[]byte("\x05a"), []byte("\x01a?"), []byte("\x01aS\xFF\xFF\xFF\xFFx"), []byte("\x01aI\x00"), appendTable(nil, deep)[4:]} {
		if _, err := readTable(bad, 4); err == nil {
			t.Errorf("%q is no table", bad)
		}
	}
}

// TestTags compares the ring with a plain map.
func TestTags(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var tags tags
	tags.reset()
	open := map[uint64]uint64{} // token by tag
	next := uint64(1)
	for range 20000 {
		switch random.IntN(4) {
		case 0, 1:
			state := uint8(random.IntN(3))
			if tag := tags.add(next*10, state); tag != next {
				t.Fatalf("tag %d instead of %d", tag, next)
			}
			if state == tagOpen {
				open[next] = next * 10
			}
			next++
		case 2:
			tag := uint64(random.IntN(int(next) + 3))
			token, ok := tags.settle(tag)
			if want, wanted := open[tag]; ok != wanted || (ok && token != want) {
				t.Fatalf("settle(%d) = %d, %v", tag, token, ok)
			}
			delete(open, tag)
		case 3:
			upTo := next - min(next, uint64(random.IntN(8)))
			for tag := uint64(1); tag <= upTo; tag++ {
				want, wanted := open[tag]
				if !wanted {
					continue
				}
				if token, ok := tags.settleUpTo(upTo); !ok || token != want {
					t.Fatalf("settleUpTo(%d) = %d, %v; want %d", upTo, token, ok, want)
				}
				delete(open, tag)
			}
			if token, ok := tags.settleUpTo(upTo); ok {
				t.Fatalf("settleUpTo(%d) = %d, but all are settled", upTo, token)
			}
		}
		if tags.open != len(open) || tags.left < tags.open {
			t.Fatalf("%d open, %d left; want %d open", tags.open, tags.left, len(open))
		}
	}
	tags.settleUpTo(next)
	for tags.open > 0 {
		tags.settleUpTo(next)
	}
	tags.settleUpTo(next)
	if tags.left != 0 || tags.first != tags.next {
		t.Errorf("%d left of %d to %d", tags.left, tags.first, tags.next)
	}
}

func TestHeartbeat(t *testing.T) {
	const half = int64(time.Second)
	p := connect(t, &Config{Heartbeat: 10 * time.Second}, &ServerConfig{Heartbeat: 2 * time.Second})
	if p.client.heartbeat.every != 2 || p.server.heartbeat.every != 2 {
		t.Fatalf("heartbeat %d s and %d s", p.client.heartbeat.every, p.server.heartbeat.every)
	}
	beat := string(appendHeartbeat(nil))
	tick := func(now int64, wantNext int64, want string) {
		t.Helper()
		next, out, err := p.client.Tick(now, nil)
		if err != nil || string(out) != want || next != wantNext {
			t.Fatalf("Tick(%d) = %d, %q, %v; want %d, %q", now, next, out, err, wantNext, want)
		}
	}
	tick(0, half, "")
	tick(half, 2*half, "") // it has said enough in the handshake
	tick(2*half, 3*half, beat)
	p.publish(t, 0, 1)
	tick(3*half, 4*half, "")
	feedAll(t, p.client, []byte(beat))
	for i := range int64(4) {
		tick((4+i)*half, (5+i)*half, beat)
	}
	_, _, err := p.client.Tick(8*half, nil)
	says(t, err, "nothing received for 2 heartbeats of 2 s")
	if _, out, err := p.server.Tick(half, nil); err != nil || len(out) > 0 {
		t.Errorf("the server: %q, %v", out, err)
	}
	if _, out, err := p.server.Tick(2*half, nil); err != nil || string(out) != beat {
		t.Errorf("the server: %q, %v", out, err)
	}
	silent := connect(t, &Config{}, &ServerConfig{Heartbeat: time.Second})
	if next, out, err := silent.client.Tick(1<<60, nil); next != math.MaxInt64 || len(out) > 0 || err != nil {
		t.Errorf("without heartbeat: %d, %q, %v", next, out, err)
	}
}

func TestReasons(t *testing.T) {
	for want, e := range map[string]ReasonError{
		"amqp091: x: unknown reason (999): \"odd\"":                                     {What: "x", Code: 999, Text: "odd"},
		"amqp091: x: REPLY_SUCCESS (200): it said goodbye":                              {What: "x", Code: 200},
		"amqp091: x: INTERNAL_ERROR (541): it failed in answer to method 1 of class 2":  {What: "x", Code: 541, Method: method(2<<16 | 1).String()},
		"amqp091: x: NO_ROUTE (312): unroutable: no queue is bound for its routing key": {What: "x", Code: 312, Text: "NO_ROUTE"},
	} {
		if e.Error() != want {
			t.Errorf("%v, want %s", &e, want)
		}
	}
	if s := fmt.Sprint(method(60<<16 | 60)); s != "basic.deliver" {
		t.Error(s)
	}
}
