package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/mqlab/mqlab/internal/guard"
)

// engineLimit bounds one request to the engine, except those that fetch an image or wait.
const engineLimit = 10 * time.Second

// dockerSocket is where an engine listens if DOCKER_HOST does not say.
const dockerSocket = "/var/run/docker.sock"

// engine is a Docker engine on this host, spoken to by its API (https://docs.docker.com/reference/api/engine/).
type engine struct {
	api    *client.Client
	socket string
}

// openEngine connects to the engine and asks whether it is there. The error is one line that says what to do.
func openEngine(ctx context.Context) (*engine, error) {
	socket := dockerSocket
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		path, local := strings.CutPrefix(host, "unix://")
		if !local {
			return nil, errors.New("the Docker engine of $DOCKER_HOST is on another host: only unix:// is possible")
		}
		socket = path
	}
	api, err := client.New(client.WithHost("unix://"+socket), client.WithDialContext(func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}))
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	e := &engine{api: api, socket: socket}
	limited, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	if _, err := api.Ping(limited, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		e.close()
		return nil, fmt.Errorf("no Docker engine answers at %s: %w (start Docker, or set DOCKER_HOST=unix://PATH)", socket, rootOf(err))
	}
	return e, nil
}

// rootOf is the system's own error within one that repeats the address in every layer.
func rootOf(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

func (e *engine) close() { _ = e.api.Close() }

// fetch gets the image if the engine does not have it.
func (e *engine) fetch(ctx context.Context, reference string) error {
	_, err := e.api.ImageInspect(ctx, reference)
	if err == nil || !errdefs.IsNotFound(err) {
		return err
	}
	progress, err := e.api.ImagePull(ctx, reference, client.ImagePullOptions{})
	if err != nil {
		return fmt.Errorf("it cannot be fetched: %w", err)
	}
	defer func() { _ = progress.Close() }()
	if err := progress.Wait(ctx); err != nil {
		return fmt.Errorf("it cannot be fetched: %w", err)
	}
	return nil
}

// follow copies what the container writes until it ends.
func (e *engine) follow(ctx context.Context, id string, to io.Writer) {
	logs, err := e.api.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		return // an error message has fewer words then
	}
	defer func() { _ = logs.Close() }()
	_, _ = stdcopy.StdCopy(to, to, logs) // likewise
}

// removeLeftovers removes the containers of labs on this host that are gone, as a host that lost its power leaves them.
func (e *engine) removeLeftovers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	found, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", ownerLabel)})
	if err != nil {
		return // if it matters, what follows fails, too, and says why
	}
	for _, c := range found.Items {
		if guard.Gone(c.Labels[ownerLabel]) {
			_, _ = e.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}) // the next start tries again
		}
	}
}
