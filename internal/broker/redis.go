package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// redisServer runs an installed Redis (https://redis.io/docs/latest/operate/oss_and_stack/management/config/).
//
// As shipped: a listener on the loopback interface. Every other setting is Redis's own default (a distribution's
// configuration file is not read); in particular a subscriber with 32 MiB waiting for it, or 8 MiB for a minute, is
// disconnected, and a snapshot of the data is written in the background after 10,000 changes within a minute.
//
// Tuned: a slow subscriber is never disconnected, no snapshots (which fork the server), and as many clients as a trial
// may have; the server raises its limit of open files by itself.
type redisServer struct{}

var redisVersion = regexp.MustCompile(`Redis server v=(\S+)`)

func (redisServer) find(ctx context.Context, binary string) Finding {
	return findProgram(ctx, binary, "redis-server", "redis-server", "--version", redisVersion)
}

// redisBulk is Redis's default of proto-max-bulk-len.
const redisBulk = 512 << 20

func (redisServer) prepare(s *site) (*program, error) {
	port, err := s.port()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(loopback, port)
	p := &program{scheme: "redis", address: address, patience: 5 * time.Second}
	p.args = []string{"--port", port, "--bind", loopback, "--dir", s.dir}
	if s.place != netns.Host { // clients behind a link do not come from 127.0.0.1, which is all that Redis takes for local
		p.args = append(p.args, "--protected-mode", "no")
	}
	if s.tls { // it has one port with TLS, and another one, for those who read back its configuration
		cert, key, err := s.certificate()
		if err != nil {
			return nil, err
		}
		secure, err := s.port()
		if err != nil {
			return nil, err
		}
		p.scheme, p.address = "rediss", net.JoinHostPort(loopback, secure)
		p.args = append(p.args, "--tls-port", secure, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	}
	p.args = append(p.args, redisOptions(s)...)
	p.readBack = func(ctx context.Context) (*report, error) { return askRedis(ctx, s.place, address) }
	return p, nil
}

// redisOptions are the arguments besides those for the listener and the folder.
func redisOptions(s *site) (args []string) {
	if s.maxMessage > redisBulk {
		args = append(args, "--proto-max-bulk-len", strconv.Itoa(s.maxMessage))
	}
	switch s.persistence {
	case plan.PersistenceOn: // every change is written, and synced once a second
		args = append(args, "--appendonly", "yes")
	case plan.PersistenceOff: // no snapshots either
		args = append(args, "--appendonly", "no", "--save", "")
	}
	if s.variant == Tuned {
		args = append(args, "--client-output-buffer-limit", "pubsub 0 0 0", "--save", "", "--maxclients", "60000")
	}
	return args
}

// redisSettings are those of CONFIG GET that are reported.
var redisSettings = []string{
	"bind", "port", "tls-port", "protected-mode", "client-output-buffer-limit", "save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy",
	"maxclients", "proto-max-bulk-len", "tcp-backlog", "tcp-keepalive", "timeout", "io-threads", "hz", "stream-node-max-entries",
}

// askRedis reads version and configuration in force.
func askRedis(ctx context.Context, place netns.Place, address string) (*report, error) {
	conn, err := place.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "INFO server\r\nCONFIG GET *\r\n"); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	info, err := redisBulkString(in)
	if err != nil {
		return nil, err
	}
	values, err := redisPairs(in)
	if err != nil {
		return nil, err
	}
	r := &report{Limits: make(map[string]int64)}
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			r.Version = strings.TrimSpace(version)
		}
	}
	for _, key := range redisSettings {
		if value, ok := values[key]; ok {
			r.Config = append(r.Config, Setting{key, value, effective})
		}
	}
	for limit, key := range map[string]string{"max_connections": "maxclients", "max_payload_bytes": "proto-max-bulk-len"} {
		if n, err := strconv.ParseInt(values[key], 10, 64); err == nil {
			r.Limits[limit] = n
		}
	}
	return r, nil
}

// redisPairs reads an array of names and values.
func redisPairs(in *bufio.Reader) (map[string]string, error) {
	n, err := redisCount(in, '*')
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for range n / 2 {
		name, err := redisBulkString(in)
		if err != nil {
			return nil, err
		}
		if values[name], err = redisBulkString(in); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func redisBulkString(in *bufio.Reader) (string, error) {
	n, err := redisCount(in, '$')
	if err != nil {
		return "", err
	}
	text := make([]byte, n+2) // with the end of the line
	if _, err := io.ReadFull(in, text); err != nil {
		return "", err
	}
	return string(text[:n]), nil
}

// redisCount reads a line that gives the length of what follows. A server that we have just started has no reason to
// send more than a megabyte.
func redisCount(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "-") {
		return 0, errors.New(line[1:])
	}
	n, err := strconv.Atoi(strings.TrimPrefix(line, string(kind)))
	if err != nil || line[0] != kind || n < 0 || n > 1<<20 {
		return 0, fmt.Errorf("it answers %q", line)
	}
	return n, nil
}
