package nats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

const (
	api     = "$JS.API."
	maxName = 255 // of a stream or consumer, in nats-server
)

// Storage: where a stream keeps its messages.
const (
	StorageFile   = "file" // what JetStream does unless told; written at once, forced to disk every two minutes
	StorageMemory = "memory"
)

// Stream is what the JetStream clients of a group share: their stream, and how they consume from it. It is only read.
type Stream struct {
	Name          string   // see Validate
	Subjects      []string // what it takes
	Storage       string   // StorageFile or StorageMemory
	MaxMessages   int64    // the oldest go when there are more; 0 = no bound
	MaxAckPending int      // unacknowledged deliveries of a consumer; 0 = the server's default
	MaxWaiting    int      // requests for messages that may wait at a consumer; 0 = the server's default
	// AckWait is after how long the server delivers again what was not acknowledged; 0 = the server's default.
	AckWait  time.Duration
	HoldAcks bool // deliveries are never acknowledged
	Delete   bool // Close deletes the stream
	Durable  bool // consumers survive their connection
	// Inactive is how long durable consumers are kept without a client; 0 = for ever.
	Inactive time.Duration
}

// Validate reports what is wrong with a stream.
func (s *Stream) Validate() error {
	switch {
	case s.Name == "" || s.Name != token(s.Name) || len(s.Name) > maxName:
		return fmt.Errorf("nats: %q is no name of a stream: use up to %d letters, digits and dashes", s.Name, maxName)
	case s.Storage != StorageFile && s.Storage != StorageMemory:
		return fmt.Errorf("nats: a stream is stored in %s or %s, not in %q", StorageFile, StorageMemory, s.Storage)
	case len(s.Subjects) == 0:
		return errors.New("nats: a stream needs subjects")
	}
	for _, subject := range s.Subjects {
		if err := checkPattern([]byte(subject)); err != nil {
			return err
		}
	}
	return nil
}

// token writes a text as one token of a subject, so that different texts stay different: what is neither letter nor digit
// nor dash becomes _ and its code.
func token(text string) string {
	b := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '-' {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "_%02x", c)
		}
	}
	return string(b)
}

// streamConfig is how the server is told of a stream. What is left out has the server's defaults.
type streamConfig struct {
	Name        string   `json:"name"`
	Subjects    []string `json:"subjects"`
	Retention   string   `json:"retention"`
	Storage     string   `json:"storage"`
	MaxMessages int64    `json:"max_msgs"`
	MaxBytes    int64    `json:"max_bytes"`
	MaxAge      int64    `json:"max_age"`
	Discard     string   `json:"discard"`
	Replicas    int      `json:"num_replicas"`
}

// consumerConfig is how the server is told of a consumer.
type consumerConfig struct {
	Name          string `json:"name"`
	Durable       string `json:"durable_name,omitempty"`
	DeliverPolicy string `json:"deliver_policy"`
	AckPolicy     string `json:"ack_policy"`
	Filter        string `json:"filter_subject"`
	ReplayPolicy  string `json:"replay_policy"`
	MaxAckPending int    `json:"max_ack_pending,omitempty"`
	MaxWaiting    int    `json:"max_waiting,omitempty"`
	AckWait       int64  `json:"ack_wait,omitempty"`
	Inactive      int64  `json:"inactive_threshold,omitempty"`
}

type createConsumer struct {
	Stream string         `json:"stream_name"`
	Config consumerConfig `json:"config"`
}

// inactive is how long a consumer that is not durable stays without a client: long enough to connect again.
const inactive = 30 * time.Second

func (c *JetStream) createStream(out []byte) []byte {
	s := c.stream
	out = append(append(append(out, "SUB "...), c.inbox...), "* 1\r\n"...)
	limit := s.MaxMessages
	if limit == 0 {
		limit = -1
	}
	return c.request(out, "STREAM.CREATE."+s.Name, "s", streamConfig{
		Name: s.Name, Subjects: s.Subjects, Storage: s.Storage, MaxMessages: limit,
		Retention: "limits", MaxBytes: -1, Discard: "old", Replicas: 1,
	})
}

// consumer describes k to the server.
func (s *Stream) consumer(k *consumer, sub *proto.Subscription) createConsumer {
	cfg := consumerConfig{
		Name: k.name, DeliverPolicy: "new", AckPolicy: "none", Filter: sub.Topic, ReplayPolicy: "instant",
		MaxWaiting: s.MaxWaiting, Inactive: int64(inactive),
	}
	if sub.QoS > 0 {
		cfg.AckPolicy, cfg.MaxAckPending, cfg.AckWait = "explicit", s.MaxAckPending, int64(s.AckWait)
	}
	if s.Durable {
		cfg.Durable, cfg.Inactive = k.name, int64(s.Inactive)
	}
	return createConsumer{s.Name, cfg}
}

// request appends a request to the server's API whose answer comes to the inbox under the given last token. nil = no body.
func (c *JetStream) request(out []byte, subject, answer string, body any) []byte {
	var b []byte
	if body != nil {
		b, _ = json.Marshal(body) // of plain structs: cannot fail
	}
	return appendMessage(out, "PUB ", []byte(api+subject), c.inbox+answer+" ", nil, b)
}

// answer is what all answers of the server have in common, and PubAck.
type answer struct {
	Type     string `json:"type"`
	Stream   string `json:"stream"`
	Sequence uint64 `json:"seq"`
	Repeated bool   `json:"duplicate"`
	Error    *struct {
		Code        int    `json:"code"`
		Number      int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

// refusal reports why the server did not create what it was asked for.
func (c *JetStream) refusal(payload []byte, what string) error {
	if code, _ := status(c.headers); code == statusNoResponders {
		return fmt.Errorf("nats: create %s: the server has JetStream off, or this account has no right to it", what)
	}
	var a answer
	if err := json.Unmarshal(payload, &a); err != nil {
		return fmt.Errorf("nats: create %s: the answer makes no sense: %w", what, err)
	}
	if a.Error != nil {
		return fmt.Errorf("nats: create %s: server: %s (%d)", what, a.Error.Description, a.Error.Number)
	}
	if a.Type == "" {
		return fmt.Errorf("nats: create %s: the answer %q makes no sense", what, shorten(payload))
	}
	return nil
}

// stored reads a PubAck and reports why a message is not in the stream.
func (c *JetStream) stored(payload []byte) error {
	if isPlainAck(payload) {
		return nil
	}
	switch code, text := status(c.headers); {
	case code == statusNoResponders:
		return errors.New("nats: no stream takes this subject: nobody answers for it")
	case code != 0:
		return fmt.Errorf("nats: JetStream did not take the message: %d %s", code, text)
	}
	var a answer
	err := json.Unmarshal(payload, &a)
	switch {
	case err != nil:
		return fmt.Errorf("nats: the answer to a message makes no sense: %w", err)
	case a.Error != nil:
		return fmt.Errorf("nats: JetStream did not take the message: server: %s (%d)", a.Error.Description, a.Error.Number)
	case a.Repeated:
		return errors.New("nats: JetStream did not take the message: duplicate: one with its Nats-Msg-Id is in the stream already")
	case a.Stream == "" || a.Sequence == 0:
		return fmt.Errorf("nats: the answer %q to a message makes no sense", shorten(payload))
	}
	return nil
}

// isPlainAck recognises {"stream":"name", "seq":1}, as servers write it for every message, at little cost.
func isPlainAck(p []byte) bool {
	rest, ok := bytes.CutPrefix(p, []byte(`{"stream":"`))
	name := bytes.IndexByte(rest, '"')
	if !ok || name <= 0 || bytes.IndexByte(rest[:name], '\\') >= 0 {
		return false
	}
	rest, ok = bytes.CutPrefix(rest[name+1:], []byte(","))
	rest = bytes.TrimLeft(rest, " ")
	digits, ok2 := bytes.CutPrefix(rest, []byte(`"seq":`))
	if !ok || !ok2 || len(digits) < 2 {
		return false
	}
	seq, valid := parseUint(digits[:len(digits)-1])
	return digits[len(digits)-1] == '}' && valid && seq > 0
}
