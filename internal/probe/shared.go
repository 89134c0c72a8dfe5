package probe

import (
	"fmt"
	"time"
)

// sharedMessages are published to a group; enough that a broker which shares them gives some to each member.
const sharedMessages = 40

// team is two members of a group, and who publishes to it.
type team struct {
	join func(name string) (*peer, error) // opens a member
	open func() (*peer, error)            // opens the publisher
	hear func(members []*peer) error      // notes what arrives, until all is there; nil = each member listens once
}

// share publishes messages of this QoS to the group of a topic and returns which member got which of them.
func (t team) share(topic string, qos uint8) (seen sharedSeen, err error) {
	seen.sent = sharedMessages
	members := make([]*peer, len(seen.got))
	for i := range members {
		if members[i], err = t.join(fmt.Sprint("member", i)); err != nil {
			return seen, err
		}
		defer members[i].close()
	}
	pub, err := t.open()
	if err != nil {
		return seen, err
	}
	defer pub.close()
	if _, err := pub.publishAll(topic, qos, 1, sharedMessages); err != nil {
		return seen, err
	}
	if t.hear == nil {
		t.hear = listenAll
	}
	if err := t.hear(members); err != nil {
		return seen, err
	}
	for i, p := range members {
		seen.got[i] = p.sequences()
	}
	return seen, nil
}

// groups tells whether the members of a group share what is published to a topic.
func (t team) groups(topic string, qos uint8) ([]Answer, error) {
	seen, err := t.share(topic, qos)
	if err != nil {
		return nil, err
	}
	return []Answer{seen.answer(AskGroups)}, nil
}

func listenAll(members []*peer) error {
	for _, p := range members {
		if err := p.listen(400 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// takeTurns lets the members hear one after the other until none of them gets anything more: for brokers that send a message
// to a member only when that has acknowledged those before.
func takeTurns(hear func(*peer) error) func(members []*peer) error {
	return func(members []*peer) error {
		for before, got := -1, 0; before < got; {
			before, got = got, 0
			for _, p := range members {
				if err := hear(p); err != nil {
					return err
				}
				got += len(p.got)
			}
		}
		return nil
	}
}
