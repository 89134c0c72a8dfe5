package plan

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
)

// kind is what is known about one broker.
type kind struct {
	name      string
	protocols []string // that it speaks; the first is the default
	runtimes  []string // in which this version runs it; the first is the default, none: not yet
}

// kinds says which broker speaks what, and how it can run.
var kinds = []kind{
	{"mosquitto", []string{MQTT5, MQTT311}, []string{"process"}},
	{"emqx", []string{MQTT5, MQTT311}, nil},
	{"hivemq", []string{MQTT5, MQTT311}, nil},
	{"rabbitmq", []string{"amqp091", "amqp10", MQTT5, MQTT311}, nil},
	{"artemis", []string{"amqp10", MQTT5, MQTT311}, nil},
	{"nats", []string{NATS, "jetstream"}, []string{"embedded", "process"}},
	{"redis", []string{"redis", "redis-streams"}, nil},
	{"zenoh", []string{"zenoh"}, nil},
	{"mochi", []string{MQTT5, MQTT311}, []string{"embedded"}},
}

// automatic are the subjects that auto stands for. Embedded ones are always there, the others if they are installed.
var automatic = []string{"mochi", "nats", "mosquitto", "nats@process"}

var (
	variants  = []string{"as-shipped", "tuned"}
	runtimes  = []string{"embedded", "process", "docker", "external"}
	protocols = []string{"mqtt", MQTT5, MQTT311, "amqp091", "amqp10", NATS, "jetstream", "redis", "redis-streams", "zenoh"}
	spoken    = []string{MQTT5, MQTT311, NATS} // by this version
)

// scheme is what the start of a URL stands for.
type scheme struct {
	port      string
	protocols []string // the first is the default
	encrypted bool
}

var schemes = map[string]scheme{
	"mqtt":  {"1883", []string{MQTT5, MQTT311}, false},
	"mqtts": {"8883", []string{MQTT5, MQTT311}, true},
	"nats":  {"4222", []string{NATS}, false},
	"tls":   {"4222", []string{NATS}, true},
}

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

// Encrypted reports whether the subject is reached by TLS.
func (s *Subject) Encrypted() bool {
	name, _, _ := strings.Cut(s.URL, "://")
	return schemes[name].encrypted
}

// ParseSubject reads broker[:variant][/protocol][@runtime], or a URL: mqtt://host:port, mqtts, nats, tls (NATS over
// TLS); a protocol may follow as the URL's path. Errors never repeat a URL, which may hold a password.
func ParseSubject(text string) (Subject, error) {
	if name, rest, ok := strings.Cut(text, "://"); ok {
		return parseURL(name, rest)
	}
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
	if len(k.runtimes) == 0 {
		return Subject{}, fmt.Errorf("%s is %w", broker, errNotYet)
	}
	if s.Protocol, err = chooseProtocol(protocol, broker, k.protocols); err != nil {
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

// chooseProtocol picks one of the protocols that a broker speaks; mqtt is short for mqtt5.
func chooseProtocol(word, broker string, speaks []string) (string, error) {
	if word == "" {
		word = speaks[0]
	}
	if word == "mqtt" {
		word = MQTT5
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
	if s.Protocol != k.protocols[0] {
		name += "/" + s.Protocol
	}
	if s.Runtime != k.runtimes[0] {
		name += "@" + s.Runtime
	}
	return name
}

// parseURL reads the address of an external broker.
func parseURL(name, rest string) (Subject, error) {
	scheme, ok := schemes[name]
	if !ok {
		return Subject{}, fmt.Errorf("unknown kind of URL %q; known: mqtt, mqtts, nats, tls", name)
	}
	if strings.Contains(rest, "@") {
		return Subject{}, errors.New("credentials belong in the environment or a file: use auth")
	}
	u, err := url.Parse(name + "://" + rest)
	if err != nil || !isHost(u.Hostname()) || strings.ContainsAny(rest, "?#") {
		return Subject{}, fmt.Errorf("no usable URL: write %s://host:%s", name, scheme.port)
	}
	port := u.Port()
	if port == "" {
		port = scheme.port
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Subject{}, fmt.Errorf("%q is no port: 1 to 65535", port)
	}
	s := Subject{Runtime: "external", URL: name + "://" + net.JoinHostPort(u.Hostname(), port)}
	if s.Protocol, err = chooseProtocol(strings.Trim(u.Path, "/"), name+"://", scheme.protocols); err != nil {
		return Subject{}, err
	}
	s.Name = s.URL
	if s.Protocol != scheme.protocols[0] {
		s.Name += "/" + s.Protocol
	}
	return s, nil
}

// isHost reports whether a text is an IP address or looks like a host's name.
func isHost(s string) bool {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Zone() == ""
	}
	strange := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	return s != "" && !strings.ContainsFunc(s, strange)
}
