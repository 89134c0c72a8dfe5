package mqtt

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// A client that is ready and owes nothing shares all else with others of its kind.
func TestIdleClientsShareWhatTheyAgreedOn(t *testing.T) {
	cfg := &Config{Version: V5, CleanStart: true, Name: func(n uint32) string { return string(rune('a' + n)) }}
	var all []*Client
	for n := range uint32(3) {
		scfg := &ServerConfig{ReceiveMaximum: 10}
		if n == 2 {
			scfg.ReceiveMaximum = 11
		}
		l := &line{t: t, c: NewNumbered(cfg, n), s: NewServer(scfg)}
		l.atClient, l.atServer = func(*proto.Event) {}, func(*proto.Event) {}
		l.open()
		l.flush()
		if l.s.Client().ID != string(rune('a'+n)) || l.c.ID() != l.s.Client().ID {
			t.Errorf("client %d is called %q", n, l.s.Client().ID)
		}
		all = append(all, l.c)
	}
	if all[0].terms != all[1].terms || all[0].terms == all[2].terms || all[2].Room(1) != 11 || all[0].Room(1) != 10 {
		t.Errorf("terms: %+v, %+v, %+v", *all[0].terms, *all[1].terms, *all[2].terms)
	}
	for _, c := range all {
		if c.held != nothingHeld || c.seldom != nothingSeldom {
			t.Errorf("%+v, %+v", *c.held, *c.seldom)
		}
		c.Barrier(1, nil)
	}
	if *nothingSeldom != (seldom{}) || *nothingHeld != (held{}) {
		t.Error("what all share was changed")
	}
}
