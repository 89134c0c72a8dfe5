// Package plan turns a scenario into the list of trials that will be run: every choice made, seeded, interleaved and
// printable. It is pure: the same scenario and seed give the same plan.
package plan

import (
	"net/netip"
	"time"

	"github.com/mqlab/mqlab/internal/energy"
	"github.com/mqlab/mqlab/internal/scenario"
)

// Plan is a scenario with every choice made.
type Plan struct {
	Scenario    string          `json:"scenario"`
	Description string          `json:"description,omitempty"`
	Seed        uint64          `json:"seed"`
	Repeat      int             `json:"repeat"`
	Subjects    []Subject       `json:"subjects"`
	Tariffs     []energy.Tariff `json:"tariffs,omitempty"`  // what data costs a device
	Limits      []string        `json:"limits,omitempty"`   // what the results must keep, as written
	LeftOut     []LeftOut       `json:"left_out,omitempty"` // points that do not fit this host
	Needs       []string        `json:"needs,omitempty"`    // of links: the most demanding trial of each subject and link, in words
	Search      *Search         `json:"search,omitempty"`   // nil = every trial is planned
	Trials      []Trial         `json:"trials"`             // of a search: what each begins with, without numbers of their own
}

// LeftOut is a point of the matrix that the host's limits forbid, or that a subject cannot do.
type LeftOut struct {
	Subject string       `json:"subject,omitempty"` // absent: all
	Set     []Assignment `json:"set"`
	Why     string       `json:"why"` // one line that names the limit
}

// Subject is what a trial measures: a broker, how it runs, its configuration variant, and the protocol spoken to it.
// It is written broker[:variant][/protocol[>protocol]][@runtime], two of them joined by + for a bridge, or as a URL.
type Subject struct {
	Name      string `json:"name"`                         // as written, shortest form
	Broker    string `json:"broker,omitempty"`             // absent: an external broker does not tell
	Variant   string `json:"variant,omitempty"`            // as-shipped, tuned; absent: an external broker's is not known
	Protocol  string `json:"protocol"`                     // mqtt5, mqtt311, nats, jetstream, amqp091, redis, redis-streams, zenoh, zenoh-block
	Subscribe string `json:"subscribe_protocol,omitempty"` // of subscribers; absent: that of publishers
	// Bridge is the broker that this one hands everything on to, and that subscribers connect to. Its protocol is the
	// bridge's.
	Bridge  *Subject `json:"bridge,omitempty"`
	Runtime string   `json:"runtime"`         // embedded, process, docker, external
	Image   string   `json:"image,omitempty"` // docker only; absent: the one that package broker knows
	URL     string   `json:"url,omitempty"`   // external only; never holds credentials
	// SubscribeURL is where subscribers connect, if elsewhere; external only.
	SubscribeURL string `json:"subscribe_url,omitempty"`
	Auth         Auth   `json:"auth,omitzero"` // where credentials are found; never the credentials themselves
	TLS          TLS    `json:"tls,omitzero"`  // external only
}

// SubscribeProtocol is what subscribers speak: the publishers' protocol, unless it is another.
func (s *Subject) SubscribeProtocol() string {
	if s.Subscribe != "" {
		return s.Subscribe
	}
	return s.Protocol
}

// Auth names where the credentials of an external broker are read from.
type Auth struct {
	UserEnv      string `json:"user_env,omitempty"`
	PasswordEnv  string `json:"password_env,omitempty"`
	TokenEnv     string `json:"token_env,omitempty"`
	PasswordFile string `json:"password_file,omitempty"` // "user:password" or a token on its first line
}

// TLS says how the server is verified and how the client proves itself.
type TLS struct {
	CAFile     string `json:"ca_file,omitempty"`
	CertFile   string `json:"cert_file,omitempty"`
	KeyFile    string `json:"key_file,omitempty"`
	ServerName string `json:"server_name,omitempty"`
	SkipVerify bool   `json:"skip_verify,omitempty"` // shown in every report
}

// Trial is one cell of the matrix, one repetition.
type Trial struct {
	ID         int     `json:"id"`         // order of execution, from 1
	Cell       int     `json:"cell"`       // same subject and parameters = same cell, from 1
	Point      int     `json:"point"`      // same parameters, any subject = same point, from 1; what a comparison compares
	Repetition int     `json:"repetition"` // from 1
	Seed       uint64  `json:"seed"`       // below 2^53; the same for every subject of a point and repetition
	Subject    Subject `json:"subject"`
	Params     Params  `json:"params"`
	// Outages are those of this trial: the same for every subject of a point and repetition.
	Outages []Outage `json:"outages,omitempty"`
}

// Params are the resolved parameters of a trial.
type Params struct {
	Pattern      string       `json:"pattern"` // pairs, fanout, fanin, shared
	Publishers   int          `json:"publishers"`
	Subscribers  int          `json:"subscribers"`
	RatePerS     float64      `json:"rate_per_s,omitempty"`    // over all publishers; 0 = as fast as possible (closed loop)
	Spread       float64      `json:"spread,omitempty"`        // each publisher's messages are so many times farther apart than those of the one before; the rate is then that of the first times their number
	Pacing       string       `json:"pacing"`                  // constant, poisson, max
	RampToPerS   float64      `json:"ramp_to_per_s,omitempty"` // linear from rate to this over the measure window
	Burst        Burst        `json:"burst,omitzero"`
	PayloadBytes int          `json:"payload_bytes"`          // all of it, with its stamp
	PayloadForm  string       `json:"payload_form"`           // binary, json
	PayloadFile  string       `json:"payload_file,omitempty"` // Tail of its content follows the stamp
	PayloadText  string       `json:"payload_text,omitempty"` // Tail of it follows the stamp
	QoS          uint8        `json:"qos"`                    // see Trial.Guarantee
	Retain       bool         `json:"retain,omitempty"`
	Storage      string       `json:"storage,omitempty"` // of a JetStream stream: file, memory; absent: file
	Window       int          `json:"window,omitempty"`  // unacknowledged messages per publisher; 0 = QoS 0, where it has no meaning
	Topic        string       `json:"topic"`             // template: {run} {stream} {publisher}; levels separated by / for every protocol
	ClientID     string       `json:"client_id"`         // template: {run} {role} {n}
	Connect      Connect      `json:"connect"`
	Phases       Phases       `json:"phases"`
	Engine       string       `json:"engine"`               // auto, loop, goroutine
	Loops        int          `json:"loops,omitempty"`      // event loops; 0 = cores - 1
	Quantum      string       `json:"quantum"`              // auto, precise, or a duration
	Send         string       `json:"send,omitempty"`       // of event loops: io_uring, write; absent: auto
	Writes       string       `json:"writes,omitempty"`     // message, batch; absent: auto
	Generators   int          `json:"generators,omitempty"` // processes that generate the load; absent: 1
	Pin          string       `json:"pin,omitempty"`        // brokers and generator on different cores: on, off; absent: on four or more
	NoDelay      bool         `json:"tcp_nodelay"`
	Verify       string       `json:"verify"`                // all, sample: which fillers are compared byte for byte
	Persistence  string       `json:"persistence,omitempty"` // of the broker: on, off; absent: as its variant has it
	Instances    int          `json:"instances,omitempty"`   // brokers that the streams are dealt out to; absent: 1
	Faults       []Fault      `json:"faults,omitempty"`
	Outages      Outages      `json:"outages,omitzero"`
	Samples      bool         `json:"samples,omitempty"`
	Profile      Profile      `json:"profile,omitzero"` // the machine that the broker is held to
	Link         Link         `json:"link,omitzero"`    // between clients and brokers
	Set          []Assignment `json:"set,omitempty"`    // the matrix values of this point, in the order written
}

// Assignment is one matrix value of a point.
type Assignment struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Burst adds Count messages back to back, over all publishers, every Every, on top of the steady rate.
type Burst struct {
	Count int           `json:"count"`
	Every time.Duration `json:"every_ns"`
}

// Connect says how connections are made.
type Connect struct {
	RatePerS       float64       `json:"rate_per_s,omitempty"`       // 0 = as fast as the host allows
	AtOnce         int           `json:"at_once,omitempty"`          // on their way at one time; 0 = 64
	Sources        []netip.Addr  `json:"source_addresses,omitempty"` // that connections come from, in turn; absent: the host's choice
	Channels       int           `json:"amqp_channels,omitempty"`    // AMQP 0-9-1 clients that share a connection, each with a channel; 0 = none share
	ChurnPerS      float64       `json:"churn_per_s,omitempty"`      // further clients that connect and leave while there is load
	Timeout        time.Duration `json:"timeout_ns"`
	KeepAlive      time.Duration `json:"keepalive_ns"`
	CleanStart     bool          `json:"clean_start"`
	SessionExpiry  time.Duration `json:"session_expiry_ns,omitempty"`
	ReceiveMaximum int           `json:"receive_maximum,omitempty"` // what we grant the broker; 0 = protocol default
	MaxPacketBytes int           `json:"max_packet_bytes,omitempty"`
	WillTopic      string        `json:"will_topic,omitempty"`
	WillPayload    string        `json:"will_payload,omitempty"`
	Reconnect      bool          `json:"reconnect"`
	Pause          time.Duration `json:"pause_ns,omitempty"` // before each attempt to connect again; 0 = growing and scattered ones
	TLS            Encryption    `json:"tls,omitzero"`
	HoldAcks       bool          `json:"hold_acks,omitempty"`        // subscribers never acknowledge: shows the broker's in-flight window
	ReadBytesPerS  int           `json:"read_bytes_per_s,omitempty"` // a slow subscriber; 0 = as fast as possible
	AckWait        time.Duration `json:"ack_wait_ns,omitempty"`      // of JetStream; 0 = the server's default
}

// Lingering is how many ports may be kept back at a time by connections of churn that have ended: each for a minute.
func (c *Connect) Lingering() int { return int(c.ChurnPerS * 60) }

// KeptFor is how long the broker keeps a session, or a queue, whose connection ended; 0 = it does not end it by time.
func (c *Connect) KeptFor() time.Duration {
	if c.SessionExpiry == scenario.Never {
		return 0
	}
	return c.SessionExpiry
}

// Encryption says how clients encrypt.
type Encryption struct {
	Version string `json:"version,omitempty"` // any, 1.2, 1.3; absent: not asked for
	Groups  string `json:"groups,omitempty"`  // of the key exchange; absent: those that Go offers
	Resume  bool   `json:"resume,omitempty"`  // sessions of TLS are resumed
}

// Phases are the parts of a trial; see design: connect, settle, warm-up, measure, drain, teardown.
type Phases struct {
	Settle  time.Duration `json:"settle_ns"`
	WarmUp  time.Duration `json:"warmup_ns"`
	Measure time.Duration `json:"measure_ns"`
	Drain   time.Duration `json:"drain_ns"` // at most; ends early when everything expected has arrived
}

// Fault is something done to the broker at a moment of the measure window.
type Fault struct {
	At   time.Duration `json:"at_ns"`
	Kind string        `json:"kind"`   // pause, restart, kill
	For  time.Duration `json:"for_ns"` // until it runs again
}

// The kinds of faults.
const (
	FaultPause   = "pause"   // its processes are stopped, and go on later
	FaultRestart = "restart" // it is asked to end (SIGTERM), and started again later with the same folder and address
	FaultKill    = "kill"    // likewise, but it ends at once (SIGKILL)
)
