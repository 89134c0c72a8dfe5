package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// Container is a container of a Docker engine on this host.
type Container struct {
	Socket string `json:"socket"` // path of the engine's Unix socket
	Name   string `json:"name"`
}

// containerLimit bounds the removal of one container.
const containerLimit = 5 * time.Second

// remove kills and removes the container with its volumes (DELETE /containers/{name} of the Docker Engine API). One that
// is not there, or is being removed, is no error; nor is an engine that is gone, and its containers with it.
func (c Container) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), containerLimit)
	defer cancel()
	var d net.Dialer
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", c.Socket)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://docker/containers/"+url.PathEscape(c.Name)+"?force=true&v=true", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil
	case err != nil:
		return fmt.Errorf("remove container %s: %w", c.Name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusNoContent, http.StatusNotFound, http.StatusConflict:
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
	return fmt.Errorf("remove container %s: %s %s", c.Name, resp.Status, text)
}

// TrackContainer names a container to be removed with us. It may be told before the container exists.
func (g *Guard) TrackContainer(c Container) { g.tell(message{Container: &c}) }

// RemoveContainer kills and removes a tracked container now.
func (g *Guard) RemoveContainer(c Container) error {
	if err := c.remove(); err != nil {
		return err
	}
	g.tell(message{Uncontainer: &c})
	return nil
}
