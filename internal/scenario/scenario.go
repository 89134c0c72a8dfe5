// Package scenario reads what the user wrote: a YAML file, decoded strictly, with overrides from the command line.
//
// Decode reads a file; Set and the other methods of Scenario override single keys; Points expands the matrix. Nothing
// fails half way: every problem is kept with its position and reported at once, as Errors.
//
// The structs Scenario, Load, Connect, Subscriber, Phases, Engine and Fault are the reference of the keys; Defaults
// holds what applies to a key that is not written.
package scenario

import "time"

// Scenario is what the user wrote.
type Scenario struct {
	// Name is how the scenario is called; by default the file's name without folder and ending.
	Name string `yaml:"name"`
	// Description says in plain words which question the scenario answers.
	Description string `yaml:"description"`
	// Subjects are compared with one another: broker[:variant][/protocol][@runtime], a URL, or auto (the embedded
	// brokers and whatever is installed). Subscribers may speak another protocol: broker/protocol>protocol. Two brokers
	// joined by + are bridged: publishers connect to the first, subscribers to the second. Each is a text, or a map with
	// subject, image, auth and tls.
	Subjects []Subject `yaml:"subjects" short:"subject"`

	Settings `yaml:",inline"`

	// Repeat is how often every cell of the matrix is measured, 1 to 1000.
	Repeat int `yaml:"repeat" min:"1" max:"1000"`
	// Seed makes everything random repeatable: 0 to 2^53-1, so that every JSON reader keeps it. Absent: a new one.
	Seed *uint64 `yaml:"seed"`
	// Matrix sweeps keys: a dotted key (load.payload) and the list of its values. The first key varies slowest. Any
	// single-valued key below load, connect, subscriber, phases, network and engine can be swept, machine and samples too; subjects is
	// the same as above.
	Matrix Matrix `yaml:"matrix"`

	// Skip leaves out, and names, what a subject cannot do at a point of the matrix, and subjects that are not installed.
	// Otherwise that is a mistake.
	Skip bool `yaml:"skip"`
	// WhenQuick are keys that --quick sets: a dotted key and its value, as for --set.
	WhenQuick Overrides `yaml:"quick"`

	// Fit leaves out the points of the matrix that this host's limits (open files, ports, memory) forbid, and says which and
	// why. Otherwise nothing is measured if one of them does not fit.
	Fit bool `yaml:"fit"`

	// Search finds the largest rate, number of pairs, subscribers or connections, or payload that keeps limits.
	Search Search `yaml:"search"`

	// Tariffs are what data costs a device, one text each: "basic: 0.50 EUR/month + 0.10 EUR/MB over 5 MB". Traffic on an emulated link
	// is projected to a month.
	Tariffs []string `yaml:"tariffs"`

	// Limits are what the results must keep, one text each: p99 < 5ms, mosquitto: lost = 0, p99 not worse than baseline.
	Limits []Limit `yaml:"limits"`

	noLimits bool
	source   string
	at       map[string]Pos // where the value of a key was written, by dotted key
	problems Errors
}

// Limit is what a result must keep, as written.
type Limit struct {
	Text string
	At   Pos
}

// Settings are the keys that describe one trial.
type Settings struct {
	// Load says who publishes what, and how often.
	Load Load `yaml:"load"`
	// Connect says how clients connect.
	Connect Connect `yaml:"connect"`
	// Subscriber says how subscribers read.
	Subscriber Subscriber `yaml:"subscriber"`
	// Phases says how long the parts of a trial last.
	Phases Phases `yaml:"phases"`
	// Engine says how this program moves the bytes.
	Engine Engine `yaml:"engine"`
	// Broker says how the broker is set up, beyond its variant.
	Broker Broker `yaml:"broker"`
	// Faults are done to the broker while measuring.
	Faults []Fault `yaml:"faults"`
	// Outages come by themselves while measuring, at times that follow from the seed.
	Outages Outages `yaml:"outages"`
	// Machine is the computer that the broker gets: 1cpu-2gb, 2cpu-4gb, 4cpu-8gb, or {cpus: 1.5, memory: 512MiB, files:
	// 300000}. CPU time, memory (no swap) and open files of all its processes are held to it. Absent, or host: all of this one.
	Machine Machine `yaml:"machine"`
	// Network says what lies between clients and brokers.
	Network Network `yaml:"network" short:"link"`
	// Samples keeps due, sent and received times of every single message.
	Samples bool `yaml:"samples"`
}

// Subject is a broker as written, and how to log in to it if it is an external one.
type Subject struct {
	// Subject is broker[:variant][/protocol[>protocol]][@runtime], two of them joined by +, or a URL.
	Subject string `yaml:"subject"`
	// Image is the container image to run instead of the one that mqlab knows, for @docker: name:tag or name@sha256:….
	Image string `yaml:"image"`
	// Auth names where credentials are found.
	Auth Auth `yaml:"auth"`
	// TLS says how both sides prove who they are.
	TLS TLS `yaml:"tls"`

	// At is where the subject was written.
	At Pos `yaml:"-"`
}

// Auth names where the credentials of an external broker are found; credentials themselves have no place here.
type Auth struct {
	// UserEnv is the environment variable that holds the user name.
	UserEnv string `yaml:"user_env"`
	// PasswordEnv is the environment variable that holds the password.
	PasswordEnv string `yaml:"password_env"`
	// TokenEnv is the environment variable that holds a NATS token.
	TokenEnv string `yaml:"token_env"`
	// PasswordFile is a file whose first line is user:password, or a token.
	PasswordFile string `yaml:"password_file"`
}

// TLS says how the server of an mqtts:// or tls:// URL is verified, and how the client proves itself.
type TLS struct {
	// CAFile holds the certificates to trust instead of the system's (PEM).
	CAFile string `yaml:"ca_file"`
	// CertFile holds the client's certificate (PEM); needs key_file.
	CertFile string `yaml:"cert_file"`
	// KeyFile holds the client's private key (PEM); needs cert_file.
	KeyFile string `yaml:"key_file"`
	// ServerName is the name to expect in the server's certificate, if not the URL's host.
	ServerName string `yaml:"server_name"`
	// SkipVerify accepts any certificate; every report shows it.
	SkipVerify bool `yaml:"skip_verify"`
}

// Load says who publishes what, and how often.
type Load struct {
	// Pattern is who hears whom. pairs: subscriber n hears publisher n. fanout: every subscriber hears every
	// publisher. fanin: one subscriber hears all publishers. shared: the subscribers share the messages, each message
	// goes to one of them.
	Pattern string `yaml:"pattern" oneof:"pairs fanout fanin shared"`
	// Publishers is the number of publishing connections.
	Publishers int `yaml:"publishers" min:"1" max:"1000000"`
	// Subscribers is the number of subscribing connections. By default as many as publishers (pairs, shared), or 1.
	Subscribers int `yaml:"subscribers" min:"1" max:"1000000"`
	// Rate is how many messages are published: 100/s or 6000/m in total over all publishers, 10/s each for every
	// publisher, max for as fast as possible (closed loop).
	Rate Rate `yaml:"rate"`
	// Spread makes each further publisher slower: its messages are this many times farther apart than those of the one before, which
	// finds out how long a connection may be idle. The rate is then that of the first publisher, and every publisher begins at once.
	Spread Factor `yaml:"spread"`
	// Pacing is how the messages of a publisher are spaced: constant, or poisson (random, as independent sources are).
	Pacing string `yaml:"pacing" oneof:"constant poisson"`
	// Ramp changes the rate linearly while measuring; ramp: 500/s is short for ramp: {to: 500/s}.
	Ramp Ramp `yaml:"ramp" short:"to"`
	// Burst adds messages back to back on top of the rate.
	Burst Burst `yaml:"burst"`
	// Payload is what a message carries; payload: 1KiB is short for payload: {size: 1KiB}.
	Payload Payload `yaml:"payload" short:"size"`
	// QoS is the quality of service 0, 1 or 2 as MQTT defines it. NATS core knows 0 only; JetStream, AMQP 0-9-1
	// and Redis know 0 and 1, Zenoh 0 only.
	QoS int `yaml:"qos" min:"0" max:"2"`
	// Storage is where JetStream keeps the messages: file (as it does unless told), or memory.
	Storage string `yaml:"storage" oneof:"file memory"`
	// Retain asks the broker to keep the last message of every topic.
	Retain bool `yaml:"retain"`
	// Window is how many messages of one publisher may be unacknowledged (QoS 1 and 2).
	Window int `yaml:"window" min:"1" max:"65535"`
	// Topic is the template of the topics: {run} is the run's number, {stream} the stream's, {publisher} the
	// publisher's. Levels are separated by / for every protocol; NATS and AMQP get dots in their place, Redis colons.
	Topic string `yaml:"topic"`
	// ClientID is the template of the client ids: {run} is the run's number, {role} pub or sub, {n} the client's number.
	ClientID string `yaml:"client_id"`
}

// Ramp changes the rate linearly over the measure phase.
type Ramp struct {
	// To is the rate at the end of the measure phase.
	To Rate `yaml:"to"`
}

// Burst adds messages back to back on top of the steady rate.
type Burst struct {
	// Count is the number of messages of one burst, over all publishers.
	Count int `yaml:"count" min:"1" max:"10000000"`
	// Every is the time from one burst to the next.
	Every time.Duration `yaml:"every" max:"720h"`
}

// Payload is what a message carries. It always starts with the stamp that identifies the message.
type Payload struct {
	// Size is the size of the whole payload with its stamp: 64, 64B, 1KiB (1024), 1KB (1000), 1MiB.
	Size Size `yaml:"size"`
	// Form is the form of the stamp: binary (40 bytes), or json where clients must see valid JSON.
	Form string `yaml:"form" oneof:"binary json"`
	// File is a file whose content follows the stamp. With form json it must hold a JSON object; the stamp becomes its
	// first member. The path is relative to the folder of the scenario file.
	File string `yaml:"file"`
	// Text is a text that follows the stamp; with form json as for file.
	Text string `yaml:"text"`
}

// Connect says how clients connect.
type Connect struct {
	// Timeout bounds one connection attempt, from dialling to the broker's consent.
	Timeout time.Duration `yaml:"timeout" min:"1ms" max:"1h"`
	// KeepAlive is the longest silence before a ping, in whole seconds; 0 switches pings off, but for Zenoh, which then has
	// its default of 2.5 s.
	KeepAlive time.Duration `yaml:"keepalive" max:"65535s" whole:"1s"`
	// CleanStart begins every connection without an earlier session.
	CleanStart bool `yaml:"clean_start"`
	// SessionExpiry is how long the broker keeps a session after its connection ended, in whole seconds (MQTT 5); never has it keep
	// the session without end, as MQTT 3.1.1, AMQP 1.0 and Redis Streams always do where clean_start is false.
	SessionExpiry time.Duration `yaml:"session_expiry" max:"4294967295s" never:"4294967295s" whole:"1s"`
	// ReceiveMaximum is how many unacknowledged messages a subscriber grants the broker (MQTT 5).
	ReceiveMaximum int `yaml:"receive_maximum" min:"1" max:"65535"`
	// MaxPacket is the largest packet that a client accepts (MQTT 5).
	MaxPacket Size `yaml:"max_packet" min:"128"`
	// Will is what the broker publishes for a client that vanishes (MQTT).
	Will Will `yaml:"will"`
	// Reconnect connects again, with growing and scattered pauses, when a connection is lost.
	Reconnect bool `yaml:"reconnect"`
	// Backoff is the pause before connecting again: jitter, which grows and is scattered (100 ms to 5 s), so that clients do not
	// come back together; or a fixed one, such as 1s.
	Backoff Backoff `yaml:"backoff"`
	// TLS encrypts connections to a broker that is started here; tls: 1.2 is short for tls: {version: 1.2}. An external broker is
	// reached as its URL says.
	TLS Encryption `yaml:"tls" short:"version"`
	// Rate is how many connections are opened, for example 500/s; max is as fast as broker and host allow.
	Rate Rate `yaml:"rate"`
	// AtOnce is how many connections may be on their way at one time, whatever the rate. Absent: 64.
	AtOnce int `yaml:"at_once" min:"1" max:"10000"`
	// SourceAddresses are the addresses of this host that connections come from, in turn, separated by commas; each has some
	// 28,000 ports. Absent: the host chooses, and many connections to a loopback address come from as many of 127.0.0.x
	// as they need (Linux).
	SourceAddresses string `yaml:"source_addresses"`
	// Channels has so many AMQP 0-9-1 clients share a connection, each with a channel to itself; absent: each has a connection.
	Channels int `yaml:"channels" min:"1" max:"2000"`
	// Churn is how many further clients a second connect, and leave as soon as the broker has accepted them, while there is
	// load, for example 50/s.
	Churn Rate `yaml:"churn"`
}

// Encryption says how connections are encrypted.
type Encryption struct {
	// Version of TLS: off, 1.2, 1.3, or any, which is the newest that both sides know. Of an external broker off says nothing.
	Version string `yaml:"version" oneof:"off any 1.2 1.3"`
	// Groups are those of the key exchange that clients offer: default, or one of x25519, p256, p384, x25519mlkem768 (hybrid with a
	// post-quantum part, 1.3 only, which costs 2.5 KB more for each handshake).
	Groups string `yaml:"groups" oneof:"default x25519 p256 p384 x25519mlkem768"`
	// Resume lets clients resume an earlier session of TLS when they connect again.
	Resume bool `yaml:"resume"`
}

// Will is what the broker publishes for a client that vanishes.
type Will struct {
	// Topic is where the will is published.
	Topic string `yaml:"topic"`
	// Payload is the will's text.
	Payload string `yaml:"payload"`
}

// Subscriber says how subscribers read.
type Subscriber struct {
	// HoldAcks never acknowledges a message, which shows how many the broker sends without (QoS 1 and 2).
	HoldAcks bool `yaml:"hold_acks"`
	// ReadRate bounds how fast every subscriber reads, for example 64KiB/s; absent is as fast as possible.
	ReadRate ByteRate `yaml:"read_rate"`
	// AckWait is after how long JetStream delivers again what was not acknowledged; absent: the server's 30 seconds. What was on its way
	// to a connection that broke comes again only then.
	AckWait time.Duration `yaml:"ack_wait" max:"1h"`
}

// Phases says how long the parts of a trial last.
type Phases struct {
	// Settle is the quiet time after every subscription is confirmed.
	Settle time.Duration `yaml:"settle" max:"720h"`
	// WarmUp is load that is not counted.
	WarmUp time.Duration `yaml:"warmup" max:"720h"`
	// Measure is load that is counted.
	Measure time.Duration `yaml:"measure" min:"1ms" max:"720h"`
	// Drain is how long stragglers are waited for, at most; it ends when everything expected has arrived.
	Drain time.Duration `yaml:"drain" max:"720h"`
}

// Engine says how this program moves the bytes.
type Engine struct {
	// Kind is loop (event loops, Linux), goroutine (everywhere, TLS), or auto.
	Kind string `yaml:"kind" oneof:"auto loop goroutine"`
	// Loops is the number of event loops; absent: the cores of this host but one.
	Loops int `yaml:"loops" min:"1" max:"1024"`
	// Generators is how many processes of this program generate the load; absent: one, or as many as the limit of open
	// files demands.
	Generators int `yaml:"generators" min:"1" max:"64"`
	// Pin is whether brokers and generator are held to different cores: on, off, or auto, which does so where there are
	// four or more.
	Pin string `yaml:"pin" oneof:"auto on off"`
	// Quantum is how finely the schedule is kept: precise, a duration from 1us to 1s that costs less CPU, or auto.
	Quantum Quantum `yaml:"quantum"`
	// Send is how event loops hand what connections have to send to the kernel: io_uring (one system call for many
	// connections, Linux 6.1), write (a call for each), or auto: io_uring where it works.
	Send string `yaml:"send" oneof:"auto io_uring write"`
	// Writes says what is handed over together: message (each message is a write of its own, as devices do), batch (all that
	// a connection has to send), or auto: message where a connection has no more than one message due per quantum.
	Writes string `yaml:"writes" oneof:"auto message batch"`
	// NoDelay sets TCP_NODELAY.
	NoDelay bool `yaml:"nodelay"`
	// Verify is whose filler is compared byte for byte: of all messages, or of a sample.
	Verify string `yaml:"verify" oneof:"all sample"`
}

// Broker says how the broker is set up.
type Broker struct {
	// Persistence is whether the broker keeps sessions and messages on disk: on, off; absent is as its variant has it.
	// An external broker is not changed: there the key says what it does, so that it is compared with its like.
	Persistence string `yaml:"persistence" oneof:"on off"`
	// Instances is how many brokers are started, each on a port of its own: streams are dealt out to them in turn, a
	// publisher and its subscribers to the same. Faults are done to the first.
	Instances int `yaml:"instances" min:"1" max:"64"`
}

// Fault is something done to the broker while measuring: one of pause, restart and kill. It may be written as a text, too:
// pause 2s at 4s. Under matrix, faults are such texts, with "and" between them, or none.
type Fault struct {
	// At is when, from the start of the measure phase.
	At time.Duration `yaml:"at" max:"720h"`
	// Pause stops the broker's processes for this long.
	Pause time.Duration `yaml:"pause" max:"720h"`
	// Restart asks the broker to end (SIGTERM), and starts it again after this long, with the same folder and address.
	Restart time.Duration `yaml:"restart" max:"720h"`
	// Kill ends the broker at once (SIGKILL), as a crash does, and starts it again after this long.
	Kill time.Duration `yaml:"kill" max:"720h"`
}
