package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/scrape"
)

// serveMetrics shows m at address/metrics until stop is called. An address without a host is of the loopback interface only; port
// 0 is any free one.
func serveMetrics(address string, m *scrape.Metrics, talk io.Writer) (stop func(), err error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usageError("--metrics %s: write :PORT or HOST:PORT", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, usageError("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", scrape.ContentType)
		_, _ = m.WriteTo(w) // whoever scrapes may hang up
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends by stop only
	}()
	_, _ = fmt.Fprintf(talk, "metrics: http://%s/metrics\n", l.Addr())
	return func() {
		_ = server.Close()
		<-ended
	}, nil
}
