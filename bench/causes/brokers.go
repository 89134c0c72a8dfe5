//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/converse"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// fill lets a broker keep n retained messages of a size, and returns when it has them.
func (l *lab) fill(ctx context.Context, s *site, n, size int) (err error) {
	c := mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true, KeepAlive: time.Minute}, "causes-fill")
	conn, err := to(s.address())(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	talk := converse.Conversation{Conn: conn, Session: c}
	if err := talk.Open(); err != nil {
		return err
	}
	message := proto.Message{Payload: bytes.Repeat([]byte("x"), size), Retain: true}
	publish := func(s proto.Client, out []byte) ([]byte, error) { return s.Publish(&message, out) }
	for i := range n {
		message.Topic = fmt.Appendf(nil, "causes/kept/%d/%d", clock.Now(), i)
		if err := talk.Send(publish); err != nil {
			return err
		}
	}
	message.Topic, message.QoS, message.Retain = []byte("causes/kept/last"), 1, false
	if err := talk.Send(publish); err != nil {
		return err
	}
	return talk.Await(proto.Acked)
}

// alarmed lets RabbitMQ have a memory alarm for a while, every so often, and a probe of ours publish meanwhile.
func (l *lab) alarmed(ctx context.Context, length, every time.Duration, p *probe) (*diagnose.Result, error) {
	b, err := l.broker(ctx, "rabbitmq", subject("rabbitmq", broker.Tuned), broker.Options{Guard: l.guard})
	if err != nil {
		return nil, err
	}
	c := amqp091.NewClient(&amqp091.Config{User: "guest", Password: "guest"}, "causes")
	p.client, p.dial = c, to(b.address())
	if err := alarm(ctx, b.pid, length, every); err != nil {
		return nil, err
	}
	var alarms []diagnose.Span
	p.watch = func(now int64) {
		n := len(alarms)
		switch open := n > 0 && alarms[n-1].To == 0; {
		case c.Blocked() != nil && !open:
			alarms = append(alarms, diagnose.Span{From: now})
		case c.Blocked() == nil && open:
			alarms[n-1].To = now
		}
	}
	in, err := p.run(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(alarms); n > 0 && alarms[n-1].To == 0 {
		alarms[n-1].To = clock.Now()
	}
	if len(alarms) > 0 {
		in.Signals = append(in.Signals, diagnose.Signal{Cause: diagnose.ResourceAlarm, Side: "broker", Spans: alarms, Certain: true})
	}
	return diagnose.Diagnose(in), nil
}

// alarm asks RabbitMQ to lower its watermark of memory and to raise it again, several times, from a moment later on.
func alarm(ctx context.Context, pid int, length, every time.Duration) error {
	program := "/usr/lib/rabbitmq/bin/rabbitmqctl" // the one in the path of Debian becomes another user, who has no cookie of ours
	if home := os.Getenv("RABBITMQ_HOME"); home != "" {
		program = filepath.Join(home, "sbin", "rabbitmqctl")
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "-q", "eval", fmt.Sprintf(
		"spawn(fun() -> {ok, Usual} = {ok, vm_memory_monitor:get_vm_memory_high_watermark()}, timer:sleep(600), "+
			"[begin vm_memory_monitor:set_vm_memory_high_watermark(0.00001), timer:sleep(%d), vm_memory_monitor:set_vm_memory_high_watermark(Usual), timer:sleep(%d) end || _ <- lists:seq(1, 6)] end), ok.",
		length.Milliseconds(), (every-length).Milliseconds()))
	cmd.Env = strings.Split(strings.TrimRight(string(b), "\x00"), "\x00") // of the node that it is to speak with
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rabbitmqctl: %w: %s", err, out)
	}
	return nil
}
