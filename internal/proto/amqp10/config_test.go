package amqp10

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", 256)
	for want, c := range map[string]Config{
		"mechanism":              {Mechanism: "GSSAPI"},
		"more than 127 bytes":    {User: long},
		"idle-time-out":          {IdleTimeout: time.Microsecond},
		"max-frame-size 100":     {FrameMax: 100},
		"session window":         {SessionWindow: -1},
		"window -1 is":           {Window: -1},
		"credit -1":              {Credit: -1},
		"every -1":               {AckEvery: -1},
		"a credit of 3":          {AckEvery: 4, Credit: 3},
		"a credit of 100":        {AckEvery: 101},
		"depends on the topic":   {SenderFirst: true, Target: Terminus{Address: TopicHere}},
		"expiry \"soon\"":        {Source: Terminus{Expiry: "soon"}},
		"distribution \"both\"":  {Shared: Terminus{Distribution: "both"}},
		"address \"xxxx":         {Target: Terminus{Address: long}},
		"no durability 3":        {Source: Terminus{Durability: 3}},
		"timeout -1s":            {Source: Terminus{Timeout: -time.Second}},
		"capability \"xxxxxxxxx": {Source: Terminus{Capabilities: []string{long}}},
	} {
		says(t, c.Validate(), want)
	}
	good := Config{
		Mechanism: "ANONYMOUS", IdleTimeout: time.Minute, FrameMax: 512, Credit: 5, AckEvery: 5, SenderFirst: true, Anonymous: true,
		Target: Terminus{Address: TopicHere}, Source: Terminus{Durability: Configuration, Expiry: "link-detach", Distribution: "copy"},
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if good.response() != "mqlab" || (&Config{Mechanism: "EXTERNAL", User: "u"}).response() != "u" {
		t.Error("wrong SASL responses")
	}
}

// TestTerminus: everything that is configured is said, and can be read.
func TestTerminus(t *testing.T) {
	s := Terminus{
		Address: "{group}/{topic}", Durability: UnsettledState, Expiry: "never", Timeout: 90 * time.Second, Distribution: "copy",
		Capabilities: []string{"shared", "global"},
	}
	v := (&reader{rest: s.append(nil, typeSource, s.address("t", "g"))}).value()
	f, ok := v.fields()
	if address, durable, expiry, timeout := f.text(), f.u32(9), f.text(), f.u32(0); !ok || string(address) != "g/t" || durable != 2 || string(expiry) != "never" || timeout != 90 {
		t.Errorf("%q, durable %d, expiry %q, timeout %d", address, durable, expiry, timeout)
	}
	dynamic := f.flag()
	f.skip(1)
	mode := f.text()
	f.skip(3)
	capabilities := f.next()
	names, ok := capabilities.symbols()
	if dynamic || string(mode) != "copy" || strings.Join(names, " ") != "shared global" || !ok || f.left != 0 || f.bad {
		t.Errorf("dynamic %v, mode %q, capabilities %q, %d left", dynamic, mode, names, f.left)
	}
}

// TestDurableSubscription: it has the same name in every connection.
func TestDurableSubscription(t *testing.T) {
	c := dial(t, &Config{Source: Terminus{Address: TopicHere, Durability: Configuration, Expiry: "never"}})
	up, err := c.Subscribe(&proto.Subscription{Token: 1, Topic: "sensors"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var f frame
	if _, err := cutFrame(up, defaultFrame, &f); err != nil {
		t.Fatal(err)
	}
	if a, err := readAttach(&f); err != nil || string(a.name) != "sensors" || string(a.sourceName) != "sensors" || !a.receives || a.mode != modeSettled {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = c.Subscribe(&proto.Subscription{Token: 2, Topic: "sensors"}, nil)
	says(t, err, "there is a durable subscription")
	_, err = c.Subscribe(&proto.Subscription{Token: 2}, nil)
	says(t, err, "needs a topic")
}

func TestNumbers(t *testing.T) {
	for _, n := range []uint32{0, 1, 255, 256, 65535, 1<<32 - 1} {
		v := (&reader{rest: appendUint(nil, n)}).value()
		if got, ok := v.number(); !ok || got != uint64(n) {
			t.Errorf("%d is read as %d", n, got)
		}
	}
	for in, want := range map[string]bool{
		"\x41": true, "\x42": false, "\x56\x01": true, "\x56\x00": false, "\x40": false, "": false,
	} {
		f := fields{reader: reader{rest: []byte(in)}, left: len(in)}
		if got := f.flag(); got != want || f.bad {
			t.Errorf("%x is read as %v, bad %v", in, got, f.bad)
		}
	}
	wrong := fields{reader: reader{rest: []byte{codeULong, 0, 0, 0, 1, 0, 0, 0, 0}}, left: 1}
	if wrong.u32(0); !wrong.bad {
		t.Error("a number of more than 32 bits is taken for one of 32")
	}
	for _, in := range []string{"\x43", "\xA1\x00", "\x70\x00"} {
		f := fields{reader: reader{rest: []byte(in)}, left: 1}
		if f.flag(); !f.bad {
			t.Errorf("%x is taken for a boolean", in)
		}
	}
}
