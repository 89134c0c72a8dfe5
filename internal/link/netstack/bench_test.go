package netstack

import (
	"io"
	"net"
	"testing"

	"github.com/mqlab/mqlab/internal/link"
)

// BenchmarkCarry sends bytes from a device to a broker on this host, over a link that adds nothing: what the two stacks, the link
// between them and the connection to the broker cost per packet of 1500 bytes.
func BenchmarkCarry(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	read := make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		n, _ := io.Copy(struct{ io.Writer }{io.Discard}, c)
		read <- n
	}()
	n, err := Open(b.Context(), link.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	c, err := n.Device().Dial(b.Context(), "tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	const segment = mtu - 52
	b.SetBytes(segment)
	buffer := make([]byte, segment)
	for b.Loop() {
		if _, err := c.Write(buffer); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close()
	if got := <-read; got != int64(b.N)*segment {
		b.Fatalf("%d bytes arrived of %d", got, int64(b.N)*segment)
	}
	up, down := n.Counters()
	b.ReportMetric(float64(up.Carried.Packets+down.Carried.Packets)/b.Elapsed().Seconds(), "packets/s")
}
