package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// redisWire is a Redis connection for commands that the sessions do not have. It speaks RESP2.
// See https://redis.io/docs/latest/develop/reference/protocol-spec.
type redisWire struct {
	ctx context.Context
	nc  net.Conn
	in  *bufio.Reader
}

// redisDepth is how deep arrays may be nested in a reply; those of streams are five deep.
const redisDepth = 8

// redisError is a refusal by the server.
type redisError string

func (e redisError) Error() string { return "redis: " + string(e) }

// redisWire opens a connection and logs in.
func (l *lab) redisWire(ctx context.Context) (*redisWire, error) {
	nc, _, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	w := &redisWire{ctx: ctx, nc: nc, in: bufio.NewReaderSize(nc, 64<<10)}
	words := []string{"PING"}
	switch {
	case l.login.User != "":
		words = []string{"AUTH", l.login.User, l.login.Password}
	case l.login.Password != "":
		words = []string{"AUTH", l.login.Password}
	}
	if _, err := w.do(words...); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return w, nil
}

// appendWords encodes a command.
func appendWords(out []byte, words ...string) []byte {
	out = fmt.Appendf(out, "*%d\r\n", len(words))
	for _, word := range words {
		out = fmt.Appendf(out, "$%d\r\n", len(word))
		out = append(out, word...)
		out = append(out, '\r', '\n')
	}
	return out
}

// do sends one command and returns the values of its reply; an array as its texts and numbers in order.
func (w *redisWire) do(words ...string) ([]string, error) {
	if err := w.write(appendWords(nil, words...)); err != nil {
		return nil, err
	}
	return w.reply()
}

// write writes all of b; errBlocked if the server does not take it.
func (w *redisWire) write(b []byte) error {
	if err := w.nc.SetWriteDeadline(w.until()); err != nil {
		return err
	}
	_, err := w.nc.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errBlocked
	}
	return err
}

func (w *redisWire) until() time.Time {
	t := time.Now().Add(patience)
	if end, ok := w.ctx.Deadline(); ok && end.Before(t) {
		return end
	}
	return t
}

// reply reads one reply.
func (w *redisWire) reply() ([]string, error) {
	if err := w.nc.SetReadDeadline(w.until()); err != nil {
		return nil, err
	}
	values, err := w.value(nil, 0)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errQuiet
	}
	return values, err
}

func (w *redisWire) value(values []string, depth int) ([]string, error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" || depth > redisDepth {
		return nil, errors.New("redis: the reply cannot be read")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return append(values, rest), nil
	case '-':
		return nil, redisError(rest)
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil || n > 1<<20 || kind != '$' && kind != '*':
		return nil, fmt.Errorf("redis: the reply %.40q cannot be read", line)
	case n < 0:
		return append(values, ""), nil
	case kind == '$':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(w.in, b); err != nil {
			return nil, err
		}
		return append(values, string(b[:n])), nil
	}
	for range n {
		if values, err = w.value(values, depth+1); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// number reads a reply that is a number.
func (w *redisWire) number() (int, error) {
	v, err := w.reply()
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, errors.New("redis: the reply is no number")
	}
	return strconv.Atoi(v[0])
}
