package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
)

// kind is what is known about one broker.
type kind struct {
	name      string
	protocols []string // that it speaks; the first is the default
	runtimes  []string // in which this version runs it; the first is the default
}

// kinds says which broker speaks what, and how it can run.
var kinds = []kind{
	{"mosquitto", []string{MQTT5, MQTT311, MQTT5WS, MQTT311WS}, []string{"process", "docker"}},
	{"emqx", []string{MQTT5, MQTT311}, []string{"process", "docker"}},
	{"hivemq", []string{MQTT5, MQTT311}, []string{"process", "docker"}},
	{"rabbitmq", []string{AMQP091, AMQP10, MQTT5, MQTT311}, []string{"process", "docker"}},
	{"artemis", []string{MQTT5, MQTT311, AMQP10}, []string{"process", "docker"}},
	{"nats", []string{NATS, JetStream, MQTT311}, []string{"embedded", "process", "docker"}},
	{"redis", []string{Redis, RedisStreams}, []string{"process", "docker"}},
	{"zenoh", []string{Zenoh, ZenohBlock}, []string{"process", "docker"}},
	{"mochi", []string{MQTT5, MQTT311, MQTT5WS, MQTT311WS}, []string{"embedded"}},
}

// automatic are the subjects that auto stands for. Embedded ones are always there, the others if they are installed.
var automatic = []string{"mochi", "nats", "mosquitto", "nats@process"}

var (
	variants  = []string{"as-shipped", "tuned"}
	runtimes  = []string{"embedded", "process", "docker", "external"}
	protocols = []string{"mqtt", MQTT5, MQTT311, MQTT5WS, MQTT311WS, AMQP091, AMQP10, NATS, JetStream, Redis, RedisStreams, Zenoh, ZenohBlock}
	spoken    = []string{MQTT5, MQTT311, MQTT5WS, MQTT311WS, NATS, JetStream, AMQP091, AMQP10, Redis, RedisStreams, Zenoh, ZenohBlock} // by this version
)

var errNotYet = errors.New("not supported yet by this version")

// Brokers are the names of all known brokers.
func Brokers() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Subjects are all the subjects that this version can run by itself, in their default protocol and variant.
func Subjects() []Subject {
	var list []Subject
	for _, k := range kinds {
		for _, runtime := range k.runtimes {
			if s, err := ParseSubject(k.name + "@" + runtime); err == nil {
				list = append(list, s)
			}
		}
	}
	return list
}

// ParseSubject reads broker[:variant][/protocol[>protocol]][@runtime], two of them joined by +, or a URL such as mqtt://host:port, see URLSchemes; a
// protocol may follow as the URL's path, and > with the URL that subscribers connect to. What Zenoh writes tcp/host:port is zenoh://host:port. Errors never repeat a URL, which
// may hold a password.
func ParseSubject(text string) (Subject, error) {
	if publish, subscribe, two := strings.Cut(text, ">"); two && strings.Contains(text, "://") {
		return parseURLs(publish, subscribe)
	}
	if rest, ok := strings.CutPrefix(text, "tcp/"); ok {
		return parseURL("zenoh", rest)
	}
	if name, rest, ok := strings.Cut(text, "://"); ok {
		return parseURL(name, rest)
	}
	return parseSides(text)
}

// parseOne reads a subject of one broker.
func parseOne(text string) (Subject, error) {
	broker, variant, protocol, runtime, err := split(text)
	if err != nil {
		return Subject{}, err
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == broker })
	if i < 0 {
		return Subject{}, unknownBroker(text, broker)
	}
	k := kinds[i]
	s := Subject{Broker: broker}
	if s.Variant, err = choose(variant, "variant", variants, variants); err != nil {
		return Subject{}, err
	}
	if s.Protocol, s.Subscribe, err = chooseSides(protocol, k); err != nil {
		return Subject{}, err
	}
	if runtime == "external" {
		return Subject{}, errors.New("an external broker is written as a URL, for example mqtt://host:1883")
	}
	if s.Runtime, err = choose(runtime, "runtime", runtimes, k.runtimes); err != nil {
		return Subject{}, fmt.Errorf("%s: %w", broker, err)
	}
	s.Name = shortName(s, k)
	return s, nil
}

// split cuts a subject at its marks.
func split(text string) (broker, variant, protocol, runtime string, err error) {
	rest := text
	for _, part := range []struct {
		mark string
		into *string
	}{{"@", &runtime}, {"/", &protocol}, {":", &variant}} {
		var found bool
		rest, *part.into, found = strings.Cut(rest, part.mark)
		if found && *part.into == "" {
			return "", "", "", "", fmt.Errorf("%q has nothing behind %s", text, part.mark)
		}
	}
	return rest, variant, protocol, runtime, nil
}

func unknownBroker(text, broker string) error {
	if broker == "" {
		return fmt.Errorf("%q names no broker; known: %s", text, strings.Join(Brokers(), ", "))
	}
	if strings.ContainsAny(broker, ".") || strings.HasPrefix(broker, "localhost") {
		return fmt.Errorf("%q is no broker's name: an address is written as a URL, for example mqtt://host:1883", broker)
	}
	return fmt.Errorf("unknown broker %q; %s", broker, scenario.Suggest(broker, Brokers()))
}

// choose picks one of the possible words; the first is the default. Known words that are not possible are not yet.
func choose(word, what string, known, possible []string) (string, error) {
	switch {
	case word == "":
		return possible[0], nil
	case slices.Contains(possible, word):
		return word, nil
	case slices.Contains(known, word):
		return "", fmt.Errorf("%s %s is %w; possible: %s", what, word, errNotYet, strings.Join(possible, ", "))
	}
	return "", fmt.Errorf("unknown %s %q; %s", what, word, scenario.Suggest(word, known))
}

// chooseProtocol picks one of the protocols that a broker speaks; mqtt is short for the newest version that it speaks.
func chooseProtocol(word, broker string, speaks []string) (string, error) {
	if word == "" {
		word = speaks[0]
	}
	if i := slices.IndexFunc(speaks, IsMQTT); word == "mqtt" && i >= 0 {
		word = speaks[i]
	}
	switch {
	case !slices.Contains(protocols, word):
		return "", fmt.Errorf("unknown protocol %q; %s", word, scenario.Suggest(word, protocols))
	case !slices.Contains(speaks, word):
		return "", fmt.Errorf("%s does not speak %s here; it speaks %s", broker, word, strings.Join(speaks, ", "))
	case !slices.Contains(spoken, word):
		return "", fmt.Errorf("protocol %s is %w", word, errNotYet)
	}
	return word, nil
}

// shortName writes a subject without what is the default.
func shortName(s Subject, k kind) string {
	name := s.Broker
	if s.Variant != variants[0] {
		name += ":" + s.Variant
	}
	if s.Protocol != k.protocols[0] || s.Subscribe != "" {
		name += "/" + s.Protocol
	}
	if s.Subscribe != "" {
		name += ">" + s.Subscribe
	}
	if s.Runtime != k.runtimes[0] {
		name += "@" + s.Runtime
	}
	return name
}
