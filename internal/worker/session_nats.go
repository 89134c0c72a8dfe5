package worker

import (
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
)

// nats serves core NATS and JetStream. Subscriptions of core NATS know no QoS: what a publisher of another protocol sends
// with a higher one is delivered at most once.
func (s *sessions) nats(protocol string, cred Credentials, secure bool) (dialect, error) {
	cfg := &nats.Config{
		Name: "mqlab", User: cred.User, Password: cred.Password, Token: cred.Token,
		TLS: secure, KeepAlive: s.share.Trial.Params.Connect.KeepAlive,
	}
	if protocol == plan.JetStream {
		return s.jetStream(cfg)
	}
	client := func(id string) proto.Client {
		c := nats.NewClient(cfg)
		c.Name = id
		return c
	}
	return dialect{pub: client, sub: client, separator: "."}, nil
}

// Bounds of how much a stream keeps: about as many bytes as entries of Redis at the usual size.
const (
	streamBytes    = 256 << 20
	streamMessages = 1000 // but never fewer
)

// jetStream uses one stream for all topics of the trial, made by whoever connects first, and one pull consumer for each
// subscription. What becomes of QoS and clean_start is said at plan.Trial.Guarantee.
func (s *sessions) jetStream(cfg *nats.Config) (dialect, error) {
	p := &s.share.Trial.Params
	stream := &nats.Stream{
		Name: "mqlab-" + s.runText(), Subjects: []string{s.allTopics(".", "*")}, Storage: nats.StorageFile,
		MaxMessages:   max(streamMessages, min(streamEntries, streamBytes/int64(p.PayloadBytes))),
		MaxAckPending: p.Connect.ReceiveMaximum, HoldAcks: p.Connect.HoldAcks, AckWait: p.Connect.AckWait,
	}
	if p.Storage == plan.StorageMemory {
		stream.Storage = nats.StorageMemory
	}
	consumer, ack := "ephemeral", "none"
	if !p.Connect.CleanStart {
		consumer, stream.Durable, stream.Inactive = "durable", true, p.Connect.KeptFor()
	}
	if p.QoS > 0 {
		ack = "explicit"
	}
	if p.Pattern == plan.PatternShared {
		stream.MaxWaiting = max(512, 4*p.Subscribers) // the members ask at one consumer
	}
	s.settings = append(s.settings,
		"storage="+stream.Storage, "max_msgs="+strconv.FormatInt(stream.MaxMessages, 10), "consumer="+consumer, "ack="+ack)
	last := *stream // of the client whose goodbye deletes the stream
	last.Delete = p.Connect.CleanStart
	next := &last
	client := func(id string) proto.Client {
		c := nats.NewJetStream(cfg, next, id)
		next = stream
		return c
	}
	return dialect{pub: client, sub: client, separator: ".", qos: p.QoS}, stream.Validate()
}

// allTopics is a pattern for the topics of all streams: one is the wildcard for a level.
func (s *sessions) allTopics(separator, one string) string {
	levels := strings.Split(expand(s.share.Trial.Params.Topic, "{run}", s.runText()), "/")
	for i, level := range levels {
		if strings.Contains(level, "{") {
			levels[i] = one
		}
	}
	return strings.Join(levels, separator)
}
