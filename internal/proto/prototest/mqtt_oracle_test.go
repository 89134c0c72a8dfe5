package prototest_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	paho311 "github.com/eclipse/paho.mqtt.golang"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

const oraclePatience = 20 * time.Second

// oracleSizes are the payloads that travel, in this order.
var oracleSizes = []int{0, 1, 2, 63, 64, 113, 114, 115, 127, 128, 1000, 4096, 16369, 16370, 16383, 16384, 65535, 65536, 100 << 10, 0, 7}

// oraclePayload is unlike every other of the sequence, if there is room for that.
func oraclePayload(i int) []byte {
	p := prototest.Pattern(oracleSizes[i])
	if len(p) > 1 {
		p[0] = byte(i)
	}
	return p
}

// party is a client of either make.
type party interface {
	subscribe(t *testing.T, topic string, qos uint8)
	publish(t *testing.T, topic string, payload []byte, qos uint8)
	confirmed(t *testing.T)             // waits until all that was published is acknowledged
	receive(t *testing.T) oracleMessage // waits for the next message
}

type oracleMessage struct {
	topic   string
	payload []byte
	qos     uint8
}

// TestOracles sends the same messages from our client to a well-kept library and back, through the real broker.
func TestOracles(t *testing.T) {
	t.Parallel()
	addr := mosquitto(t, "allow_anonymous true\n")
	libraries := map[byte]func(*testing.T, string) party{mqtt.V311: newPaho311, mqtt.V5: newPaho5}
	for version, library := range libraries {
		for qos := range uint8(3) {
			name := fmt.Sprintf("v%d/QoS%d", version, qos)
			t.Run(name+"/ours to theirs", func(t *testing.T) {
				t.Parallel()
				compare(t, newOurs(t, addr, version), library(t, addr), qos)
			})
			t.Run(name+"/theirs to ours", func(t *testing.T) {
				t.Parallel()
				compare(t, library(t, addr), newOurs(t, addr, version), qos)
			})
		}
	}
}

func compare(t *testing.T, from, to party, qos uint8) {
	topic := "oracle/" + t.Name()
	to.subscribe(t, topic, qos)
	for i := range oracleSizes {
		from.publish(t, topic, oraclePayload(i), qos)
	}
	from.confirmed(t)
	for i := range oracleSizes {
		got := to.receive(t)
		if got.topic != topic || got.qos != qos || !bytes.Equal(got.payload, oraclePayload(i)) {
			t.Fatalf("message %d of %d bytes arrived as %d bytes on %q with QoS %d",
				i, oracleSizes[i], len(got.payload), got.topic, got.qos)
		}
	}
}

// ours is our client.
type ours struct {
	client *mqtt.Client
	conn   *prototest.Conn
	unsure int // published and not yet acknowledged
	queue  []oracleMessage
}

func newOurs(t *testing.T, addr string, version byte) party {
	o := &ours{client: mqttClient(version, &prototest.Options{ID: "ours" + fmt.Sprint(time.Now().UnixNano()), Window: 20})}
	var err error
	if o.conn, err = prototest.Dial(addr, o.client); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.conn.Goodbye() })
	o.await(t, proto.Ready)
	return o
}

// await handles events until one of this kind has come.
func (o *ours) await(t *testing.T, kind proto.Kind) {
	t.Helper()
	for {
		ev, err := o.conn.Next(oraclePatience)
		if err == nil {
			err = ev.Err
		}
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case proto.Acked:
			o.unsure--
		case proto.Delivered:
			o.queue = append(o.queue, oracleMessage{string(ev.Topic), bytes.Clone(ev.Payload), ev.QoS})
		}
		if ev.Kind == kind {
			return
		}
	}
}

func (o *ours) subscribe(t *testing.T, topic string, qos uint8) {
	err := o.conn.Send(func(out []byte) ([]byte, error) {
		return o.client.Subscribe(&proto.Subscription{Topic: topic, QoS: qos}, out)
	})
	if err != nil {
		t.Fatal(err)
	}
	o.await(t, proto.Subscribed)
}

func (o *ours) publish(t *testing.T, topic string, payload []byte, qos uint8) {
	for o.client.Room(qos) == 0 {
		o.await(t, proto.Acked)
	}
	err := o.conn.Send(func(out []byte) ([]byte, error) {
		return o.client.Publish(&proto.Message{Topic: []byte(topic), Payload: payload, QoS: qos}, out)
	})
	if err != nil {
		t.Fatal(err)
	}
	if qos > 0 {
		o.unsure++
	}
}

func (o *ours) confirmed(t *testing.T) {
	for o.unsure > 0 {
		o.await(t, proto.Acked)
	}
}

func (o *ours) receive(t *testing.T) oracleMessage {
	for len(o.queue) == 0 {
		o.await(t, proto.Delivered)
	}
	m := o.queue[0]
	o.queue = o.queue[1:]
	return m
}

// inbox is what the libraries put received messages into.
type inbox chan oracleMessage

func newInbox() inbox { return make(inbox, 2*len(oracleSizes)) }

func (i inbox) receive(t *testing.T) oracleMessage {
	select {
	case m := <-i:
		return m
	case <-time.After(oraclePatience):
		t.Fatal("nothing arrives")
		panic("unreachable")
	}
}

// theirs311 is paho.mqtt.golang.
type theirs311 struct {
	inbox
	client paho311.Client
}

func newPaho311(t *testing.T, addr string) party {
	p := &theirs311{inbox: newInbox()}
	p.client = paho311.NewClient(paho311.NewClientOptions().AddBroker("tcp://" + addr).SetProtocolVersion(4).
		SetClientID(fmt.Sprint("paho", time.Now().UnixNano())).SetAutoReconnect(false).SetCleanSession(true))
	p.wait(t, p.client.Connect())
	t.Cleanup(func() { p.client.Disconnect(0) })
	return p
}

func (p *theirs311) wait(t *testing.T, token paho311.Token) {
	t.Helper()
	if !token.WaitTimeout(oraclePatience) || token.Error() != nil {
		t.Fatalf("paho: %v", token.Error())
	}
}

func (p *theirs311) subscribe(t *testing.T, topic string, qos uint8) {
	p.wait(t, p.client.Subscribe(topic, qos, func(_ paho311.Client, m paho311.Message) {
		p.inbox <- oracleMessage{m.Topic(), bytes.Clone(m.Payload()), m.Qos()}
	}))
}

func (p *theirs311) publish(t *testing.T, topic string, payload []byte, qos uint8) {
	p.wait(t, p.client.Publish(topic, qos, false, payload))
}

func (p *theirs311) confirmed(*testing.T) {} // publish waits

// theirs5 is paho.golang.
type theirs5 struct {
	inbox
	client *paho.Client
}

func newPaho5(t *testing.T, addr string) party {
	p := &theirs5{inbox: newInbox()}
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p.client = paho.NewClient(paho.ClientConfig{
		Conn: nc,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			p.inbox <- oracleMessage{r.Packet.Topic, bytes.Clone(r.Packet.Payload), r.Packet.QoS}
			return true, nil
		}},
	})
	ctx, cancel := context.WithTimeout(context.Background(), oraclePatience)
	defer cancel()
	id := fmt.Sprint("paho", time.Now().UnixNano())
	if _, err := p.client.Connect(ctx, &paho.Connect{ClientID: id, CleanStart: true, KeepAlive: 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Disconnect(&paho.Disconnect{}) })
	return p
}

func (p *theirs5) subscribe(t *testing.T, topic string, qos uint8) {
	ctx, cancel := context.WithTimeout(context.Background(), oraclePatience)
	defer cancel()
	if _, err := p.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: qos}}}); err != nil {
		t.Fatal(err)
	}
}

func (p *theirs5) publish(t *testing.T, topic string, payload []byte, qos uint8) {
	ctx, cancel := context.WithTimeout(context.Background(), oraclePatience)
	defer cancel()
	if _, err := p.client.Publish(ctx, &paho.Publish{Topic: topic, QoS: qos, Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

func (p *theirs5) confirmed(*testing.T) {} // Publish waits
