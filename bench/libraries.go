//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"net/url"
	"sync/atomic"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	natsgo "github.com/nats-io/nats.go"
	amqpgo "github.com/rabbitmq/amqp091-go"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mqlab/mqlab/internal/clock"
)

// The libraries put sequence number and time into each message they send, and read both from each they receive: less
// than the lab's stamp, which has a check sum, and no records are kept. What is left is the library's own work.

func number(payload []byte, seq uint64) {
	binary.LittleEndian.PutUint64(payload, seq)
	binary.LittleEndian.PutUint64(payload[8:], uint64(clock.Now()))
}

func pahoConnect(broker, id string) (paho.Client, error) {
	u, err := url.Parse(broker)
	if err != nil {
		return nil, err
	}
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://" + u.Host).SetClientID(id).SetProtocolVersion(4))
	t := c.Connect()
	t.Wait()
	return c, t.Error()
}

// pahoPublish publishes without waiting for the tokens. The library keeps a payload until it is sent, so each message
// needs its own.
func pahoPublish(broker string, span time.Duration) (figures, error) {
	c, err := pahoConnect(broker, "pub")
	if err != nil {
		return figures{}, err
	}
	return busy(span, func(seq uint64) error {
		payload := make([]byte, smallBytes)
		number(payload, seq)
		c.Publish(topic, 0, false, payload)
		return nil
	})
}

func pahoReceive(broker string, span time.Duration) (figures, error) {
	c, err := pahoConnect(broker, "sub")
	if err != nil {
		return figures{}, err
	}
	var received, sum atomic.Uint64
	t := c.Subscribe(topic, 0, func(_ paho.Client, m paho.Message) {
		b := m.Payload()
		sum.Store(binary.LittleEndian.Uint64(b[12:]) + binary.LittleEndian.Uint64(b[20:]))
		received.Add(1)
	})
	if t.Wait(); t.Error() != nil {
		return figures{}, t.Error()
	}
	time.Sleep(warmUp)
	began, used := received.Load(), cpuTime()
	time.Sleep(span)
	return figures{Messages: received.Load() - began, CPU: cpuTime() - used}, nil
}

func natsPublish(server string, span time.Duration) (figures, error) {
	c, err := natsgo.Connect(server)
	if err != nil {
		return figures{}, err
	}
	payload := make([]byte, smallBytes)
	return busy(span, func(seq uint64) error {
		number(payload, seq)
		return c.Publish(topic, payload)
	})
}

// natsBench does what the command line's "nats bench pub" does: one payload, again and again.
func natsBench(server string, span time.Duration) (figures, error) {
	c, err := natsgo.Connect(server)
	if err != nil {
		return figures{}, err
	}
	payload := make([]byte, smallBytes)
	return busy(span, func(uint64) error { return c.Publish(topic, payload) })
}

// amqpPublish publishes without confirms; the library writes every message by itself.
func amqpPublish(broker string, span time.Duration) (figures, error) {
	c, err := amqpgo.Dial(broker)
	if err != nil {
		return figures{}, err
	}
	ch, err := c.Channel()
	if err != nil {
		return figures{}, err
	}
	payload := make([]byte, smallBytes)
	return busy(span, func(seq uint64) error {
		number(payload, seq)
		return ch.Publish("amq.topic", topic, false, false, amqpgo.Publishing{DeliveryMode: amqpgo.Transient, Body: payload})
	})
}

// amqpDevices publishes by many connections in turn, without confirms.
func amqpDevices(broker string, span time.Duration) (figures, error) {
	var channels [carriers]*amqpgo.Channel
	for i := range channels {
		c, err := amqpgo.Dial(broker)
		if err != nil {
			return figures{}, err
		}
		if channels[i], err = c.Channel(); err != nil {
			return figures{}, err
		}
	}
	payload := make([]byte, smallBytes)
	return busy(span, func(seq uint64) error {
		number(payload, seq)
		return channels[seq%carriers].Publish("amq.topic", topic, false, false, amqpgo.Publishing{DeliveryMode: amqpgo.Transient, Body: payload})
	})
}

// redisPublish publishes by pipelines of so many commands. The library keeps a payload until the pipeline is sent, so each
// message of one needs its own.
func redisPublish(depth int) child {
	return func(broker string, span time.Duration) (figures, error) {
		options, err := goredis.ParseURL(broker)
		if err != nil {
			return figures{}, err
		}
		pipe := goredis.NewClient(options).Pipeline()
		payloads := make([][smallBytes]byte, depth)
		return busy(span, func(seq uint64) error {
			ctx, payload := context.Background(), payloads[pipe.Len()][:]
			number(payload, seq)
			pipe.Publish(ctx, topic, payload)
			if pipe.Len() < depth {
				return nil
			}
			_, err := pipe.Exec(ctx)
			return err
		})
	}
}

// busy calls publish as fast as it can, and counts after a warm-up.
func busy(span time.Duration, publish func(seq uint64) error) (figures, error) {
	const lookAt = 64 // messages between two looks at the clock
	seq := uint64(0)
	until := func(end int64) error {
		for clock.Now() < end {
			for range lookAt {
				if err := publish(seq); err != nil {
					return err
				}
				seq++
			}
		}
		return nil
	}
	if err := until(clock.Now() + int64(warmUp)); err != nil {
		return figures{}, err
	}
	began, used := seq, cpuTime()
	err := until(clock.Now() + int64(span))
	return figures{Messages: seq - began, CPU: cpuTime() - used}, err
}
