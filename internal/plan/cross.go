package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A subject may have two sides. With a second protocol behind > subscribers speak that one: nats/mqtt311>nats. With a second
// broker behind + publishers connect to the first, which hands everything on to the second over a bridge, and subscribers
// connect to that: mosquitto+nats.

// parseSides reads broker[:variant][/protocol[>protocol]][@runtime], or two such joined by +.
func parseSides(text string) (Subject, error) {
	first, second, bridged := cutBridge(text)
	if !bridged {
		return parseOne(text)
	}
	return parseBridge(first, second)
}

// cutBridge cuts a text at its first + that is not part of the name of a protocol.
func cutBridge(text string) (first, second string, found bool) {
	for i := range len(text) {
		if text[i] == '+' && !isTransport(text[i:]) {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

func isTransport(rest string) bool {
	after, found := strings.CutPrefix(rest, webSocket)
	return found && (after == "" || strings.ContainsRune("@>+", rune(after[0])))
}

// chooseSides picks the protocols of both sides; subscribe is empty where they are the same.
func chooseSides(written string, k kind) (publish, subscribe string, err error) {
	left, right, two := strings.Cut(written, ">")
	if two && (left == "" || right == "") {
		return "", "", fmt.Errorf("%q lacks a protocol beside >: publishers' > subscribers'", written)
	}
	if publish, err = chooseProtocol(left, k.name, k.protocols); err != nil || !two {
		return publish, "", err
	}
	if subscribe, err = chooseProtocol(right, k.name, k.protocols); err != nil {
		return "", "", err
	}
	switch {
	case subscribe == publish:
		return publish, "", nil
	case k.name == "redis":
		return "", "", errors.New("pub/sub and streams of Redis do not meet: what is published in one is not in the other")
	case k.name == "zenoh":
		return "", "", errors.New("what happens at a congested link is said by Zenoh's publishers alone: leave out >")
	}
	return publish, subscribe, nil
}

// bridgeable are the brokers that can hand messages on, and that we know how to tell so.
var bridgeable = []string{"mosquitto"}

// parseBridge reads two brokers. The bridge speaks MQTT to the second one in the version that its subscribers speak, or else
// the older one, which every broker knows.
func parseBridge(first, second string) (Subject, error) {
	s, err := parseOne(first)
	if err != nil {
		return Subject{}, err
	}
	to, err := parseOne(second)
	switch i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == to.Broker }); {
	case err != nil:
		return Subject{}, err
	case !slices.Contains(bridgeable, s.Broker):
		return Subject{}, fmt.Errorf("%s has no bridge that is known here; possible in front of +: %s", s.Broker, strings.Join(bridgeable, ", "))
	case s.Subscribe != "" || to.Subscribe != "":
		return Subject{}, errors.New("publishers speak the protocol of the broker in front of +, subscribers that of the one behind it: leave out >")
	case s.Runtime == "docker" || to.Runtime == "docker":
		return Subject{}, errors.New("brokers in containers cannot be bridged by this version")
	case IsMQTT(to.Protocol):
		to.Subscribe = to.Protocol
		to.Protocol, _ = OverWebSocket(to.Protocol)
	case slices.ContainsFunc(kinds[i].protocols, IsMQTT):
		to.Protocol, to.Subscribe = MQTT311, to.Protocol
	default:
		return Subject{}, fmt.Errorf("%s does not speak MQTT, which the bridge of %s does", to.Broker, s.Broker)
	}
	s.Name += "+" + to.Name
	if to.Subscribe != s.Protocol {
		s.Subscribe = to.Subscribe
	}
	if to.Subscribe == to.Protocol {
		to.Subscribe = ""
	}
	s.Bridge = &to
	return s, nil
}

// subscriber is the subject as its subscribers see it.
func (s *Subject) subscriber() Subject {
	seen := *s
	if s.Bridge != nil {
		seen = *s.Bridge
	}
	seen.Name, seen.Protocol, seen.Subscribe, seen.Bridge = s.Name, s.SubscribeProtocol(), "", nil
	return seen
}

// crosses reports whether subscribers are on another side than publishers.
func (s *Subject) crosses() bool { return s.Subscribe != "" || s.Bridge != nil }
