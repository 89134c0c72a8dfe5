package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// Config is what all clients of a group share. It is only read.
type Config struct {
	Name           string        // what NewClient calls each client; the server shows it in its monitoring
	User, Password string        // if the server asks for them
	Token          string        // instead of user and password
	TLS            bool          // the connection is encrypted already, so that a server that requires TLS is content
	KeepAlive      time.Duration // between two PINGs; 0 = none
	Headers        []byte        // sent with every message as HPUB; made by EncodeHeaders; empty = PUB
}

// Header is one line of a message's header block.
type Header struct{ Key, Value string }

// EncodeHeaders makes the block that stands before the payload of an HPUB or HMSG.
func EncodeHeaders(headers ...Header) ([]byte, error) {
	b := []byte("NATS/1.0\r\n")
	for _, h := range headers {
		if h.Key == "" {
			return nil, errors.New("nats: a header needs a name")
		}
		for _, c := range []byte(h.Key) {
			if c <= ' ' || c >= 0x7f || c == ':' {
				return nil, fmt.Errorf("nats: header name %q has a character that is not allowed", h.Key)
			}
		}
		for _, c := range []byte(h.Value) {
			if c == '\r' || c == '\n' {
				return nil, fmt.Errorf("nats: header %s: the value has a line break", h.Key)
			}
		}
		b = append(b, h.Key...)
		b = append(b, ": "...)
		b = append(b, h.Value...)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...), nil
}

// Info is what a server says about itself in INFO, as far as it concerns the lab.
type Info struct {
	ServerID     string `json:"server_id"`
	ServerName   string `json:"server_name,omitempty"`
	Version      string `json:"version"`
	Proto        int    `json:"proto"`
	Host         string `json:"host"`
	Port         int    `json:"port"`
	Headers      bool   `json:"headers"`
	MaxPayload   int64  `json:"max_payload"` // bytes, headers included; 0 = not said
	AuthRequired bool   `json:"auth_required,omitempty"`
	TLSRequired  bool   `json:"tls_required,omitempty"`
	TLSAvailable bool   `json:"tls_available,omitempty"`
	LameDuck     bool   `json:"ldm,omitempty"` // the server is about to shut down
}

// Greeting reads the INFO line at the start of in, without consuming it for a session. It returns its length; 0 means
// that more bytes are needed. A NATS server greets in the clear even where TLS is required: the mover of a tls://
// connection reads until Greeting is satisfied, makes the TLS handshake, and then feeds the greeting to the session.
func Greeting(in []byte) (n int, info Info, err error) {
	if wait, err := foreign(in); wait || err != nil {
		return 0, Info{}, err
	}
	line, n, err := cutLine(in)
	if n == 0 {
		return 0, Info{}, err
	}
	op, args := cutOp(line)
	if op != opInfo {
		return 0, Info{}, errNotNATS
	}
	info, err = parseInfo(args)
	return n, info, err
}

var errNotNATS = errors.New("nats: the peer does not speak NATS: its first bytes are not INFO")

// foreign looks at the first bytes of a conversation, which should be a server's greeting. It reports an error if they belong
// to another protocol, and asks to wait while they may.
func foreign(in []byte) (wait bool, err error) {
	if mayGreet(in) {
		return false, nil
	}
	name, wait := proto.Stranger(in, "NATS")
	switch {
	case wait:
		return true, nil
	case name != "":
		return false, fmt.Errorf("nats: the peer does not speak NATS: looks like %s", name)
	}
	return false, errNotNATS
}

// mayGreet reports whether in, which may be short, starts like a server's greeting.
func mayGreet(in []byte) bool {
	const greeting = "INFO"
	for i := range min(len(in), len(greeting)) {
		if upper(in[i]) != greeting[i] {
			return false
		}
	}
	return len(in) <= len(greeting) || in[len(greeting)] == ' ' || in[len(greeting)] == '\t'
}

func parseInfo(args []byte) (info Info, err error) {
	if err := json.Unmarshal(args, &info); err != nil {
		return Info{}, fmt.Errorf("nats: malformed INFO: %w", err)
	}
	return info, nil
}

// limit is the largest message, headers included, that may be published to this server.
func (i *Info) limit() int32 {
	if i.MaxPayload <= 0 || i.MaxPayload > maxMessage {
		return maxMessage
	}
	return int32(i.MaxPayload)
}

// connect is the argument of CONNECT. Absent fields have the server's defaults: verbose, pedantic and echo are true.
type connect struct {
	Verbose      *bool  `json:"verbose,omitempty"`
	Pedantic     *bool  `json:"pedantic,omitempty"`
	TLSRequired  bool   `json:"tls_required"`
	User         string `json:"user,omitempty"`
	Password     string `json:"pass,omitempty"`
	Token        string `json:"auth_token,omitempty"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"` // 1: INFO may come at any time
	Echo         *bool  `json:"echo,omitempty"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
}

func (c *Client) appendConnect(out []byte) ([]byte, error) {
	no, yes := false, true
	b, err := json.Marshal(connect{
		Verbose: &no, Pedantic: &no, Echo: &yes, TLSRequired: c.cfg.TLS,
		User: c.cfg.User, Password: c.cfg.Password, Token: c.cfg.Token,
		Name: c.Name, Lang: "go", Version: "mqlab", Protocol: 1, Headers: true, NoResponders: c.noResponders,
	})
	if err != nil {
		return out, fmt.Errorf("nats: encode CONNECT: %w", err)
	}
	out = append(out, "CONNECT "...)
	out = append(out, b...)
	return append(out, "\r\n"...), nil
}
