package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/mqlab/mqlab/internal/converse"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// Bridge is where a broker hands on everything that is published to it.
type Bridge struct {
	Address  string // of an MQTT listener
	Protocol string // plan.MQTT5 or plan.MQTT311
	QoS      uint8  // at most
}

// StartBridged starts the broker that the one of s is bridged to, and then that one. It returns when a message comes
// through. Both are to be ended by Stop.
func StartBridged(ctx context.Context, s plan.Subject, o Options, qos uint8) (first, second *Instance, err error) {
	second, err = Start(ctx, *s.Bridge, o)
	if err != nil {
		return nil, nil, err
	}
	enter, err := parseURL(second.URL)
	if err == nil {
		o.Bridge = &Bridge{Address: enter.Host, Protocol: s.Bridge.Protocol, QoS: qos}
		first, err = Start(ctx, s, o)
	}
	if err == nil {
		place := o.Place
		if place == nil {
			place = netns.Host
		}
		if err = comesThrough(ctx, place, first.program.address, enter.Host); err != nil {
			err = fmt.Errorf("the bridge from %s to %s: %w", s.Broker, s.Bridge.Broker, err)
			if last := first.stderr.lastLine(); last != "" {
				err = fmt.Errorf("%w; %s last said: %s", err, s.Broker, last)
			}
			err = errors.Join(err, first.Stop(ctx))
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, second.Stop(ctx))
	}
	return first, second, nil
}

// mosquittoBridge are the settings of a bridge. Without try_private mosquitto would mark the version of the protocol, which
// others refuse; notifications would be messages of its own.
func mosquittoBridge(b *Bridge) []Setting {
	version := "mqttv311"
	if b.Protocol == plan.MQTT5 {
		version = "mqttv50"
	}
	return []Setting{
		{"connection", bridgeName, asWritten},
		{"address", b.Address, asWritten},
		{"remote_clientid", bridgeName, asWritten}, // its own choice has a dot, which nats-server refuses
		{"topic", "# out " + strconv.Itoa(int(b.QoS)), asWritten},
		{"bridge_protocol_version", version, asWritten},
		{"try_private", "false", asWritten},
		{"notifications", "false", asWritten},
		{"cleansession", "true", asWritten},
	}
}

const (
	bridgeLimit = 10 * time.Second
	bridgeName  = "mqlab-bridge"
	probeTopic  = bridgeName
	probeEach   = 20 * time.Millisecond
)

// comesThrough publishes at one MQTT listener until a message arrives at the other.
func comesThrough(ctx context.Context, place netns.Place, from, to string) error {
	ctx, cancel := context.WithTimeout(ctx, bridgeLimit)
	defer cancel()
	hear, err := talkTo(ctx, place, to, bridgeName+"-sub")
	if err != nil {
		return err
	}
	defer func() { _ = hear.Conn.Close() }()
	say, err := talkTo(ctx, place, from, bridgeName+"-pub")
	if err != nil {
		return err
	}
	defer func() { _ = say.Conn.Close() }()
	err = hear.Send(func(c proto.Client, out []byte) ([]byte, error) {
		return c.Subscribe(&proto.Subscription{Topic: probeTopic}, out)
	})
	if err == nil {
		err = hear.Await(proto.Subscribed)
	}
	for err == nil && ctx.Err() == nil {
		err = say.Send(func(c proto.Client, out []byte) ([]byte, error) {
			return c.Publish(&proto.Message{Topic: []byte(probeTopic)}, out)
		})
		if err != nil {
			break
		}
		if err = hear.Conn.SetReadDeadline(time.Now().Add(probeEach)); err != nil {
			break
		}
		if err = hear.Await(proto.Delivered); err == nil {
			return errors.Join(say.Goodbye(), hear.Goodbye())
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Errorf("no message came through within %v", bridgeLimit)
	default:
		return cause
	}
}

// talkTo connects an MQTT client.
func talkTo(ctx context.Context, place netns.Place, address, name string) (*converse.Conversation, error) {
	conn, err := place.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &converse.Conversation{Conn: conn, Session: mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, name)}
	deadline, _ := ctx.Deadline()
	if err = conn.SetDeadline(deadline); err == nil {
		err = c.Open()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}
