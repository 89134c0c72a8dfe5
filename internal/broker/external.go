package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

const connectLimit = 3 * time.Second

// parseURL checks the URL of an external broker and completes its port.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the URL, which may hold a password
		}
		return nil, fmt.Errorf("the broker's URL cannot be read: %w", err)
	}
	scheme, known := plan.LookupScheme(u.Scheme)
	port := scheme.Port
	switch {
	case !known:
		return nil, fmt.Errorf("the broker's URL starts with %q: known are %s", u.Scheme+":", strings.Join(plan.URLSchemes(), ", "))
	case u.User != nil:
		return nil, errors.New("the broker's URL holds credentials: name an environment variable or a file for them instead")
	case u.Hostname() == "":
		return nil, errors.New("the broker's URL names no host")
	case u.Path != "" && u.Path != "/" && !scheme.WebSocket || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the broker's URL has more than scheme, host and port")
	case u.Port() != "":
		port = u.Port()
	}
	return &url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(u.Hostname(), port), Path: u.Path}, nil
}

func findExternal(ctx context.Context, place netns.Place, s plan.Subject) Finding {
	f := reachable(ctx, place, s, s.URL)
	if f.OK && s.SubscribeURL != "" {
		return reachable(ctx, place, s, s.SubscribeURL)
	}
	return f
}

func reachable(ctx context.Context, place netns.Place, s plan.Subject, raw string) Finding {
	f := Finding{Name: s.Broker, Runtime: External}
	u, err := parseURL(raw)
	if err != nil {
		f.Why = err.Error()
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := place.Dial(ctx, "tcp", u.Host)
	if err != nil {
		f.Why = unreachable(u, err)
		return f
	}
	_ = conn.Close()
	f.OK, f.Why = true, "takes connections at "+u.Host
	return f
}

// unreachable says in one line why there is no connection.
func unreachable(u *url.URL, err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "unknown host " + u.Hostname()
	case errors.As(err, &dns):
		return fmt.Sprintf("host %s could not be looked up: %s", u.Hostname(), dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return u.Host + " refused the connection: nothing listens there"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s did not answer within %v", u.Host, connectLimit)
	}
	return fmt.Sprintf("%s cannot be reached: %v", u.Host, err)
}

func startExternal(s plan.Subject) (*Instance, error) {
	u, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	i := &Instance{URL: u.String(), SubscribeURL: u.String(), name: u.Host}
	if s.SubscribeURL != "" {
		to, err := parseURL(s.SubscribeURL)
		if err != nil {
			return nil, err
		}
		i.SubscribeURL = to.String()
	}
	return i, nil
}
