package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/proto/nats"
)

// natsWire is a NATS connection that keeps to no limit of the server, as a session would, and asks to be told when a
// message has no receiver.
// See https://docs.nats.io/reference/reference-protocols/nats-protocol.
type natsWire struct {
	ctx  context.Context
	nc   net.Conn
	in   *bufio.Reader
	info nats.Info

	patience time.Duration // with a server that does not read
}

// natsInbox is where the server tells that there is no receiver.
const natsInbox = "_INBOX."

// wire opens a connection.
func (l *lab) wire(ctx context.Context) (*natsWire, error) {
	nc, _, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	w := &natsWire{ctx: ctx, nc: nc, in: bufio.NewReaderSize(nc, 64<<10), patience: patience}
	if err := w.handshake(l); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return w, nil
}

func (w *natsWire) handshake(l *lab) error {
	line, err := w.line(patience)
	if err != nil {
		return err
	}
	if _, w.info, err = nats.Greeting([]byte(line + "\r\n")); err != nil {
		return err
	}
	hello, err := json.Marshal(map[string]any{
		"verbose": false, "pedantic": false, "headers": true, "no_responders": true, "protocol": 1, "name": l.run, "lang": "go",
		"version": "mqlab", "tls_required": l.tls != nil, "user": l.login.User, "pass": l.login.Password, "auth_token": l.login.Token,
	})
	if err != nil {
		return err
	}
	if err := w.write([]byte("CONNECT " + string(hello) + "\r\nSUB " + natsInbox + l.run + " 1\r\n")); err != nil {
		return err
	}
	_, err = w.sync(patience)
	return err
}

// line reads a line; errQuiet if there is none in time.
func (w *natsWire) line(wait time.Duration) (string, error) {
	if err := w.nc.SetReadDeadline(w.until(wait)); err != nil {
		return "", err
	}
	line, err := w.in.ReadString('\n')
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", errQuiet
	case errors.Is(err, io.EOF):
		return "", fmt.Errorf("the broker closed the connection: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), err
}

func (w *natsWire) until(d time.Duration) time.Time {
	t := time.Now().Add(d)
	if end, ok := w.ctx.Deadline(); ok && end.Before(t) {
		return end
	}
	return t
}

// write writes all of b; errBlocked if the server does not take it.
func (w *natsWire) write(b []byte) error {
	if err := w.nc.SetWriteDeadline(w.until(w.patience)); err != nil {
		return err
	}
	_, err := w.nc.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errBlocked
	}
	return err
}

// sync waits until the server has handled all that was sent, and tells whether a message had no receiver. An -ERR is an
// error in the server's words.
func (w *natsWire) sync(wait time.Duration) (lonely bool, err error) {
	if err := w.write([]byte("PING\r\n")); err != nil {
		if words := w.lastWords(); words != nil {
			return false, words
		}
		return false, err
	}
	for {
		line, err := w.line(wait)
		if err != nil {
			return lonely, err
		}
		op, _, _ := strings.Cut(line, " ")
		switch op {
		case "PONG":
			return lonely, nil
		case "PING":
			err = w.write([]byte("PONG\r\n"))
		case "-ERR":
			err = errors.New("nats: " + strings.TrimPrefix(line, "-ERR "))
		case "MSG", "HMSG":
			var text string
			text, err = w.body(line)
			lonely = lonely || op == "HMSG" && strings.HasPrefix(text, "NATS/1.0 503")
		}
		if err != nil {
			return lonely, err
		}
	}
}

// lastWords reads what the server said before it closed the connection; nil if that was no error.
func (w *natsWire) lastWords() error {
	for {
		line, err := w.line(200 * time.Millisecond)
		if err != nil {
			return nil //nolint:nilerr // there is nothing more
		}
		if strings.HasPrefix(line, "-ERR") {
			return errors.New("nats: " + strings.TrimPrefix(line, "-ERR "))
		}
	}
}

// body reads what follows the line of a message, whose last word is its size.
func (w *natsWire) body(line string) (string, error) {
	n, err := strconv.ParseUint(line[strings.LastIndexByte(line, ' ')+1:], 10, 26)
	if err != nil {
		return "", fmt.Errorf("nats: %q has no size", line)
	}
	b := make([]byte, n+2)
	_, err = io.ReadFull(w.in, b)
	return string(b), err
}

// appendPub encodes a message; reply is where the server tells that it has no receiver, empty = nowhere.
func appendPub(out []byte, subject, reply string, payload []byte) []byte {
	out = append(out, "PUB "...)
	out = append(out, subject...)
	out = append(out, ' ')
	if reply != "" {
		out = append(out, reply...)
		out = append(out, ' ')
	}
	out = strconv.AppendInt(out, int64(len(payload)), 10)
	out = append(out, '\r', '\n')
	out = append(out, payload...)
	return append(out, '\r', '\n')
}
