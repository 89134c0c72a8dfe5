package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/netns"
)

const dockerSocket = "/var/run/docker.sock"

var errNoAnswer = errors.New("it does not answer as a Docker engine does")

// probeDocker asks the engine whether it is there. host is the value of DOCKER_HOST; empty = the usual socket. An engine on
// another machine is not asked: nil.
func probeDocker(ctx context.Context, host string) *Ability {
	path, local := strings.CutPrefix(host, "unix://")
	switch {
	case host == "":
		path = dockerSocket
	case !local:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := netns.Host.Dial(ctx, "unix", path)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return able(fmt.Errorf("%s: %w", path, err))
	}
	defer func() { _ = conn.Close() }()
	return able(ping(ctx, conn))
}

// ping is the request GET /_ping of the Docker Engine API.
func ping(ctx context.Context, conn net.Conn) error {
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 4096))
	if head, _, _ := strings.Cut(string(answer), "\r\n"); !strings.HasPrefix(head, "HTTP/1.") || !strings.Contains(head, " 200 ") {
		return errors.Join(err, errNoAnswer)
	}
	return nil
}
