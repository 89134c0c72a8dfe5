package plan

import (
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/scenario"
)

// withTLS are the brokers that this version starts with TLS.
var withTLS = []string{"mosquitto", "rabbitmq", "nats", "redis", "artemis", "hivemq", "emqx"}

func encryption(e *scenario.Encryption) (out Encryption) {
	if e.Version != "off" {
		out.Version = e.Version
	}
	if e.Groups != "default" {
		out.Groups = e.Groups
	}
	out.Resume = e.Resume
	return out
}

// describe says how clients encrypt, in words.
func (e *Encryption) describe() string {
	text := "TLS"
	if e.Version != "any" {
		text += " " + e.Version
	}
	if e.Groups != "" {
		text += " by " + e.Groups
	}
	if e.Resume {
		text += ", TLS sessions are resumed"
	}
	return text
}

// Secured reports whether connections of the trial are encrypted.
func (t *Trial) Secured() bool {
	return t.Subject.Encrypted() || t.Params.Connect.TLS.Version != "" && t.Subject.Runtime != "external"
}

// checkEncryption looks for what a subject cannot encrypt.
func checkEncryption(p *scenario.Point, s Subject, report reporter) {
	e := &p.Connect.TLS
	asked := e.Version != "off"
	started := s.Runtime != "external"
	_, ws := OverWebSocket(s.Protocol)
	_, hears := OverWebSocket(s.SubscribeProtocol())
	able := s.Runtime == "process" && s.Bridge == nil && slices.Contains(withTLS, s.Broker)
	switch {
	case asked && started && !able:
		report("connect.tls", "is for %s as a process, alone, and for external brokers", strings.Join(withTLS, ", "))
	case asked && started && (ws || hears):
		report("connect.tls", "a WebSocket is not started with TLS: use an external broker")
	case asked && !started && !s.Encrypted():
		report("connect.tls", "its URL is not one of TLS")
	case !asked && started && (e.Groups != "default" || e.Resume):
		report("connect.tls.version", "is off, though more is asked of TLS")
	case asked && p.Engine.Kind == EngineLoop:
		report("engine.kind", "TLS needs the goroutine engine: goroutine or auto")
	}
}
