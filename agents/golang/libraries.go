package golang

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"runtime/debug"
	"time"

	// effort: go-paho5
	"github.com/eclipse/paho.golang/paho"
	// effort: end
	// effort: go-paho3
	mqtt "github.com/eclipse/paho.mqtt.golang"
	// effort: end
	// effort: go-amqp091
	amqp "github.com/rabbitmq/amqp091-go"
	// effort: end
)

// modules are the libraries' module paths, which the build knows the versions of.
var modules = map[string]string{
	"paho3": "github.com/eclipse/paho.mqtt.golang", "paho5": "github.com/eclipse/paho.golang", "amqp091": "github.com/rabbitmq/amqp091-go",
}

// library names a library, with its version.
func library(name string) (module, version string) {
	module = modules[name]
	if module == "" {
		return "floor-go", ""
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return module, d.Version
			}
		}
	}
	return module, ""
}

// tls is the configuration that trusts the broker's authority, nil without one.
func (a *agent) tls() (*tls.Config, error) {
	if a.TLSCA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(a.TLSCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + a.TLSCA)
	}
	return &tls.Config{RootCAs: pool, ServerName: a.Host}, nil
}

// dial connects, with TLS if that is asked for.
func (a *agent) dial() (net.Conn, error) {
	config, err := a.tls()
	if err != nil {
		return nil, err
	}
	if config != nil {
		return tls.Dial("tcp", a.address(), config)
	}
	return net.Dial("tcp", a.address())
}

func paho3(a *agent) error {
	config, err := a.tls()
	if err != nil {
		return err
	}
	scheme := "tcp://"
	if config != nil {
		scheme = "ssl://"
	}
	// effort: go-paho3
	o := mqtt.NewClientOptions().AddBroker(scheme + a.address()).SetClientID(a.clientID(a.number)).SetKeepAlive(a.keepAlive()).SetTLSConfig(config)
	// effort: end
	o.SetAutoReconnect(a.Reconnect != "").SetMaxReconnectInterval(time.Second)
	callback := func(_ mqtt.Client, m mqtt.Message) { a.received(m.Payload()) }
	if a.Reconnect == "resubscribe" {
		o.SetOnConnectHandler(func(c mqtt.Client) { c.Subscribe(a.Topic, a.QoS, callback) })
	}
	if a.Log == 1 {
		mqtt.DEBUG = log.New(os.Stderr, "", log.LstdFlags)
	}
	// effort: go-paho3
	client := mqtt.NewClient(o)
	if t := client.Connect(); t.Wait() && t.Error() != nil {
		return t.Error()
	}
	t := client.Subscribe(a.Topic, a.QoS, callback)
	if t.Wait() && t.Error() != nil {
		return t.Error()
	}
	// effort: end
	a.send = func(payload []byte, qos byte) error { return client.Publish(a.Publish, qos, false, payload).Error() }
	a.ready()
	return nil
}

func paho5(a *agent) error {
	// effort: go-paho5
	conn, err := a.dial()
	if err != nil {
		return err
	}
	client := paho.NewClient(paho.ClientConfig{Conn: conn, OnPublishReceived: []func(paho.PublishReceived) (bool, error){
		func(p paho.PublishReceived) (bool, error) {
			a.received(p.Packet.Payload)
			return true, nil
		},
	}})
	if _, err := client.Connect(context.Background(), &paho.Connect{KeepAlive: uint16(a.KeepAlive), ClientID: a.clientID(a.number), CleanStart: true}); err != nil {
		return err
	}
	if _, err := client.Subscribe(context.Background(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: a.Topic, QoS: a.QoS}}}); err != nil {
		return err
	}
	// effort: end
	a.ready()
	return nil
}

func amqp091(a *agent) error {
	config, err := a.tls()
	if err != nil {
		return err
	}
	scheme := "amqp://"
	if config != nil {
		scheme = "amqps://"
	}
	// effort: go-amqp091
	c, err := amqp.DialTLS(scheme+"guest:guest@"+a.address()+"/", config)
	if err != nil {
		return err
	}
	channel, err := c.Channel()
	if err != nil {
		return err
	}
	if _, err := channel.QueueDeclare(a.Topic, false, true, false, false, nil); err != nil {
		return err
	}
	deliveries, err := channel.Consume(a.Topic, "", a.QoS == 0, false, false, false, nil)
	if err != nil {
		return err
	}
	// effort: end
	a.ready()
	// effort: go-amqp091
	go func() {
		for d := range deliveries {
			a.received(d.Body)
			if a.QoS > 0 {
				_ = d.Ack(false)
			}
		}
	}()
	// effort: end
	return nil
}

// floor is a socket and no library: what others add is what they take longer than this.
func floor(a *agent) error {
	conn, err := a.dial()
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte("\x10\x11\x00\x04MQTT\x04\x02\x02\x58\x00\x05floor")); err != nil {
		return err
	}
	var answer [4]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if answer[3] != 0 || len(a.Topic) > 100 {
		return errors.New("CONNECT was refused, or the topic is too long")
	}
	subscribe := append([]byte{0x82, byte(5 + len(a.Topic)), 0, 1, 0, byte(len(a.Topic))}, a.Topic...)
	if _, err := conn.Write(append(subscribe, a.QoS)); err != nil {
		return err
	}
	go a.read(conn)
	return nil
}

func (a *agent) read(conn net.Conn) {
	buffer := make([]byte, 1<<22)
	if a.By != "" {
		buffer = make([]byte, 1<<14) // it grows where a packet needs it
	}
	n := 0
	for {
		if n == len(buffer) {
			buffer = append(buffer, make([]byte, n)...)
		}
		got, err := conn.Read(buffer[n:])
		if err != nil {
			return
		}
		n += got
		done := 0
		for {
			used := a.packet(conn, buffer[done:n])
			if used == 0 {
				break
			}
			done += used
		}
		n = copy(buffer, buffer[done:n])
	}
}

// packet handles the packet at the begin of b; it returns its length, 0 if it is not whole yet.
func (a *agent) packet(conn net.Conn, b []byte) int {
	if len(b) < 2 {
		return 0
	}
	n, size := binary.Uvarint(b[1:min(len(b), 5)])
	if size <= 0 || uint64(len(b)) < 1+uint64(size)+n {
		return 0
	}
	body := b[1+size : 1+size+int(n)]
	switch b[0] >> 4 {
	case 3:
		head := 2 + int(binary.BigEndian.Uint16(body))
		qos := b[0] >> 1 & 3
		if qos > 0 {
			head += 2
		}
		a.received(body[head:])
		if qos > 0 {
			_, _ = conn.Write([]byte{0x30 + qos<<4, 2, body[head-2], body[head-1]})
		}
	case 6:
		_, _ = conn.Write([]byte{0x70, 2, body[0], body[1]})
	case 9:
		a.ready()
	}
	return 1 + size + int(n)
}
