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
)

// Scheme is what the start of a URL stands for.
type Scheme struct {
	Name      string
	Port      string   // unless the URL names one
	Protocols []string // the first is the default
	Encrypted bool     // by TLS from the first byte, or (NATS) right after the server's greeting
	WebSocket bool     // the URL has a path
}

var schemes = []Scheme{
	{Name: "mqtt", Port: "1883", Protocols: []string{MQTT5, MQTT311}},
	{Name: "mqtts", Port: "8883", Protocols: []string{MQTT5, MQTT311}, Encrypted: true},
	{Name: "ws", Port: "80", Protocols: []string{MQTT5WS, MQTT311WS}, WebSocket: true},
	{Name: "wss", Port: "443", Protocols: []string{MQTT5WS, MQTT311WS}, Encrypted: true, WebSocket: true},
	{Name: "nats", Port: "4222", Protocols: []string{NATS, JetStream}},
	{Name: "tls", Port: "4222", Protocols: []string{NATS, JetStream}, Encrypted: true},
	{Name: "amqp", Port: "5672", Protocols: []string{AMQP091, AMQP10}},
	{Name: "amqps", Port: "5671", Protocols: []string{AMQP091, AMQP10}, Encrypted: true},
	{Name: "redis", Port: "6379", Protocols: []string{Redis, RedisStreams}},
	{Name: "rediss", Port: "6379", Protocols: []string{Redis, RedisStreams}, Encrypted: true},
	{Name: "zenoh", Port: "7447", Protocols: []string{Zenoh, ZenohBlock}},
}

// LookupScheme finds what a URL that starts with name:// stands for.
func LookupScheme(name string) (Scheme, bool) {
	i := slices.IndexFunc(schemes, func(s Scheme) bool { return s.Name == name })
	if i < 0 {
		return Scheme{}, false
	}
	return schemes[i], true
}

// URLSchemes are the names of all schemes.
func URLSchemes() []string {
	names := make([]string, len(schemes))
	for i := range schemes {
		names[i] = schemes[i].Name
	}
	return names
}

// SchemeOf is how URLs of a protocol start, without encryption.
func SchemeOf(protocol string) string {
	i := slices.IndexFunc(schemes, func(s Scheme) bool { return slices.Contains(s.Protocols, protocol) })
	if i < 0 {
		return ""
	}
	return schemes[i].Name
}

// SecureSchemeOf is how URLs of a protocol start, with TLS.
func SecureSchemeOf(protocol string) string {
	i := slices.IndexFunc(schemes, func(s Scheme) bool { return s.Encrypted && slices.Contains(s.Protocols, protocol) })
	if i < 0 {
		return ""
	}
	return schemes[i].Name
}

// Encrypted reports whether the subject, or one side of it, is reached by TLS.
func (s *Subject) Encrypted() bool {
	for _, address := range []string{s.URL, s.SubscribeURL} {
		name, _, _ := strings.Cut(address, "://")
		if scheme, _ := LookupScheme(name); scheme.Encrypted {
			return true
		}
	}
	return false
}

// parseURL reads the address of an external broker. Behind ws://host:port may be a path, and then the protocol.
func parseURL(name, rest string) (Subject, error) {
	scheme, ok := LookupScheme(name)
	if !ok {
		return Subject{}, fmt.Errorf("unknown kind of URL %q; known: %s", name, strings.Join(URLSchemes(), ", "))
	}
	if strings.Contains(rest, "@") {
		return Subject{}, errors.New("credentials belong in the environment or a file: use auth")
	}
	u, err := url.Parse(name + "://" + rest)
	if err != nil || !isHost(u.Hostname()) || strings.ContainsAny(rest, "?#") {
		return Subject{}, fmt.Errorf("no usable URL: write %s://host:%s", name, scheme.Port)
	}
	port := u.Port()
	if port == "" {
		port = scheme.Port
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Subject{}, fmt.Errorf("%q is no port: 1 to 65535", port)
	}
	s := Subject{Runtime: "external", URL: name + "://" + net.JoinHostPort(u.Hostname(), port)}
	path, protocol := "", strings.Trim(u.Path, "/")
	if scheme.WebSocket {
		path, protocol = splitPath(protocol)
	}
	if s.Protocol, err = chooseProtocol(protocol, name+"://", scheme.Protocols); err != nil {
		return Subject{}, err
	}
	s.URL += path
	s.Name = s.URL
	if s.Protocol != scheme.Protocols[0] {
		base, _ := OverWebSocket(s.Protocol)
		s.Name += "/" + base
	}
	return s, nil
}

// parseURLs reads the two addresses of what subscribers hear elsewhere than it is published: another listener of a broker, or
// another broker that hears from the first.
func parseURLs(publish, subscribe string) (Subject, error) {
	s, err := ParseSubject(publish)
	if err != nil {
		return Subject{}, err
	}
	to, err := ParseSubject(subscribe)
	switch {
	case err != nil:
		return Subject{}, err
	case s.Runtime != "external" || to.Runtime != "external" || to.SubscribeURL != "":
		return Subject{}, errors.New("on both sides of > belongs a URL: where publishers > where subscribers connect")
	}
	s.Name += ">" + to.Name
	s.SubscribeURL = to.URL
	if to.Protocol != s.Protocol {
		s.Subscribe = to.Protocol
	}
	return s, nil
}

// splitPath takes the protocol off the end of the path of a WebSocket's URL, if one is written there.
func splitPath(text string) (path, protocol string) {
	levels := strings.Split(text, "/")
	if last := levels[len(levels)-1]; last == MQTT5 || last == MQTT311 {
		levels, protocol = levels[:len(levels)-1], last+webSocket
	}
	if path = strings.Join(levels, "/"); path != "" {
		path = "/" + path
	}
	return path, protocol
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

// Protocols are what this version can speak to a broker; the first is the default.
func (s *Subject) Protocols() []string {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == s.Broker })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(kinds[i].protocols), func(p string) bool { return !slices.Contains(spoken, p) })
}
