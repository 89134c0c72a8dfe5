package engine

import (
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
)

// ClientSpec describes one connection.
type ClientSpec struct {
	Number    uint32 // of this publisher or subscriber in the whole trial; samples carry it
	Session   proto.Client
	Publish   *PublishSpec
	Subscribe *SubscribeSpec
	Dialer    Dialer // makes its connections; nil = the engine's own
}

// SubscribeSpec says what a connection receives: streams FirstStream … FirstStream+len(Trackers)-1. It belongs to the Core
// that it was added to.
type SubscribeSpec struct {
	Subscriptions Subscriptions
	FirstStream   uint32
	Trackers      []ledger.Tracker // shared subscriptions give the same slice to all members
	// FirstLeg hears at the near end of a bridge what others are to get behind it: nothing of it counts but how long it
	// took until here.
	FirstLeg bool
	// Shared says that the streams are divided with others: what this connection misses says nothing.
	Shared    bool
	left      int32  // subscriptions not yet confirmed
	delivered uint64 // different messages of the measure window that came here
}

// Subscriptions tells what a connection that receives n streams from first on asks its broker for. It is asked whenever one
// connects, so that nobody needs to keep the topics of all.
type Subscriptions interface {
	Subscriptions(first uint32, n int) []proto.Subscription
}

// These are subscriptions that are the same for every stream.
type These []proto.Subscription

// Subscriptions implements the interface of this name.
func (t These) Subscriptions(uint32, int) []proto.Subscription { return t }
