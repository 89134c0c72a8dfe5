package plan

import (
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/scenario"
)

// Bounds of what can be carried out.
const (
	maxTrials      = 100_000
	maxConnections = 60_000 // from one address to one broker: its ports
	maxMessages    = 1e12
	maxDuration    = 366 * 24 * time.Hour
)

// checkAccess looks at the credentials and the TLS settings of a subject.
func (r *resolver) checkAccess(at scenario.Pos, s *Subject) {
	report := func(format string, args ...any) { r.problems.Add(at, "subjects", format, args...) }
	a, t := &s.Auth, &s.TLS
	if s.Image != "" && s.Runtime != "docker" {
		report("image is for @docker: %s runs in no container", s.Name)
	}
	switch {
	case s.Runtime != "external" && *a != (Auth{}):
		report("auth is for an external broker: %s is started without", s.Name)
	case a.PasswordEnv != "" && a.UserEnv == "" && !IsRedis(s.Protocol):
		report("auth has password_env, but no user_env")
	case a.TokenEnv != "" && !s.nats():
		report("auth.token_env is for NATS: use user_env and password_env")
	case a.UserEnv != "" && a.TokenEnv != "", a.PasswordFile != "" && (a.UserEnv != "" || a.TokenEnv != ""):
		report("auth names more than one place: one of user_env, token_env, password_file is needed")
	}
	switch {
	case *t != (TLS{}) && !s.Encrypted():
		report("tls is for mqtts://, wss://, tls://, amqps:// and rediss://: %s is not encrypted", s.Name)
	case (t.CertFile == "") != (t.KeyFile == ""):
		report("tls needs cert_file and key_file together")
	}
}

// checkSubject looks for what a subject cannot do at a point.
func (r *resolver) checkSubject(p *scenario.Point, s Subject) {
	report := func(key, format string, args ...any) {
		r.problems.Add(p.At(key), key, "%s: %s", s.Name, fmt.Sprintf(format, args...))
	}
	checkProtocol(p, s, report)
	if s.crosses() {
		other := *p
		seen := s.subscriber()
		if seen.Protocol == NATS {
			other.Load.QoS = 0 // what it delivers it delivers at most once, however it was published
		}
		checkProtocol(&other, seen, report)
	}
	if p.Load.Storage != "" && s.Protocol != JetStream && s.Subscribe != JetStream {
		report("load.storage", "is for JetStream: %s keeps no stream", s.Protocol)
	}
	if s.Bridge != nil && p.Broker.Persistence != "" {
		report("broker.persistence", "the brokers of a bridge are set up as their variants say")
	}
	if s.Runtime == "external" && len(p.Faults) > 0 {
		report("faults[0]", "a broker that was not started here cannot be paused or ended")
	}
	r.checkVersion(p, s, report)
	checkPersistence(p, s, report)
	checkOutages(p, s, report)
	checkEncryption(p, s, report)
	checkInstances(p, s, report)
	if s.Runtime == "external" && p.Machine.Name != "" && !r.noLimits {
		report("machine", "a broker that was not started here cannot be held to a machine")
	}
	if (s.Runtime == "external" || s.Runtime == "docker") && p.Engine.Pin == "on" {
		report("engine.pin", "a broker that is not started here as a process cannot be held to cores")
	}
	_, publish := OverWebSocket(s.Protocol)
	_, subscribe := OverWebSocket(s.SubscribeProtocol())
	if (publish || subscribe) && p.Engine.Kind == EngineLoop {
		report("engine.kind", "WebSocket needs the goroutine engine: goroutine or auto")
	}
	if p.Connect.Channels > 1 && p.Engine.Kind == EngineLoop {
		report("engine.kind", "connections that are shared need the goroutine engine: goroutine or auto")
	}
	if s.Encrypted() && p.Engine.Kind == EngineLoop {
		report("engine.kind", "TLS needs the goroutine engine: goroutine or auto")
	}
}

// checkLoad refuses what cannot be carried out in one trial.
func (r *resolver) checkLoad(p *scenario.Point, params *Params) {
	if n := params.connections(); n > maxConnections {
		key := "load.publishers"
		if params.Subscribers > params.Publishers {
			key = "load.subscribers"
		}
		r.problems.Add(p.At(key), key, "%d connections are too many: at most %d from one address", n, maxConnections)
	}
	if n := params.messages(); params.Pacing != "max" && n < 1 {
		r.problems.Add(p.At("load.rate"), "load.rate", "is so low that no message falls into the measure phase of %v", params.Phases.Measure)
	}
}

// checkTotal refuses what nobody wants to wait for.
func (r *resolver) checkTotal(s *scenario.Scenario, p *Plan) {
	var messages, seconds float64
	for i := range p.Trials {
		t := &p.Trials[i]
		messages += t.Params.messages() * float64(t.Params.Fan())
		seconds += t.longest().Seconds()
	}
	if messages > maxMessages {
		r.problems.Add(s.At("load.rate"), "load.rate", "%.3g messages are too many: at most %.0g", messages, float64(maxMessages))
	}
	if seconds > maxDuration.Seconds() {
		r.problems.Add(s.At("phases"), "phases", "the plan takes %.0f days: at most %.0f", seconds/86400, maxDuration.Hours()/24)
	}
}
