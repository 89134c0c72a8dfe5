//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/capture"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/evidence"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/tun"
)

// fromTable writes messages as a table, as programs log them, and diagnoses what is read of that.
func fromTable(messages []diagnose.Message) (*diagnose.Result, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, "seq,send_ns,recv_ns")
	for i, m := range messages {
		if !m.Lost {
			fmt.Fprintf(&b, "%d,%d,%d\n", i, m.Sent, m.Recv)
		}
	}
	t, err := evidence.ReadCSV(&b, evidence.Options{})
	if err != nil {
		return nil, err
	}
	return diagnose.Diagnose(&t.Input), nil
}

// pcap is a capture that is being written.
type pcap struct {
	mu     sync.Mutex
	file   bytes.Buffer
	writer *pcapgo.Writer
	err    error
}

func newPcap(of layers.LinkType) *pcap {
	p := &pcap{}
	p.writer = pcapgo.NewWriterNanos(&p.file)
	p.err = p.writer.WriteFileHeader(1<<16, of)
	return p
}

func (p *pcap) add(at int64, data []byte, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.writer.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, at), CaptureLength: len(data), Length: size}, data); p.err == nil {
		p.err = err
	}
}

// diagnosed reads the capture as any file.
func (p *pcap) diagnosed() (*diagnose.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	c, err := capture.Read(&p.file)
	if err != nil {
		return nil, err
	}
	in, _ := c.Input()
	return diagnose.Diagnose(in), nil
}

// captured diagnoses a client from what a capture on the loopback interface shows while it runs.
func (l *lab) captured(ctx context.Context, c client) (*diagnose.Result, error) {
	b, err := l.mosquitto(ctx, c.variant())
	if err != nil {
		return nil, err
	}
	c.on = b
	socket, err := listenLoopback()
	if err != nil {
		return nil, err
	}
	p := newPcap(layers.LinkTypeEthernet)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { p.listen(socket, b.port(), stop) })
	_, err = l.measure(ctx, c)
	close(stop)
	wg.Wait()
	if err := errors.Join(err, unix.Close(socket)); err != nil {
		return nil, err
	}
	return p.diagnosed()
}

const allFrames = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network order

// listenLoopback opens a packet socket on the loopback interface, which needs CAP_NET_RAW.
func listenLoopback() (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, allFrames)
	if err != nil {
		return -1, fmt.Errorf("a packet socket: %w", err)
	}
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allFrames, Ifindex: 1}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20),
	)
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func captureMissing(ctx context.Context) string {
	fd, err := listenLoopback()
	if err != nil {
		return err.Error()
	}
	_ = unix.Close(fd)
	return agentMissing("c-libmosquitto")(ctx)
}

// listen writes down the frames of a port, once each: on the loopback interface every frame is seen leaving and arriving.
func (p *pcap) listen(fd int, port uint16, stop <-chan struct{}) {
	frame, control := make([]byte, 1<<16), make([]byte, 256)
	for {
		select {
		case <-stop:
			return
		default:
		}
		n, controls, _, from, err := unix.Recvmsg(fd, frame, control, 0)
		if err != nil {
			continue // there was nothing for a while
		}
		if to, ok := from.(*unix.SockaddrLinklayer); !ok || to.Pkttype == unix.PACKET_OUTGOING || !ofPort(frame[:n], port) {
			continue
		}
		p.add(stamped(control[:controls]), frame[:n], n)
	}
}

// ofPort tells whether a frame is TCP over IPv4 from or to a port.
func ofPort(frame []byte, port uint16) bool {
	const ethernet, ip = 14, 20
	if len(frame) < ethernet+ip+4 || frame[ethernet]>>4 != 4 || frame[ethernet+9] != unix.IPPROTO_TCP {
		return false
	}
	tcp := frame[ethernet+int(frame[ethernet]&15)*4:]
	return len(tcp) >= 4 && (uint16(tcp[0])<<8|uint16(tcp[1]) == port || uint16(tcp[2])<<8|uint16(tcp[3]) == port)
}

// stamped is when the kernel saw a frame.
func stamped(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Now().UnixNano()
	}
	for _, m := range messages {
		if m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			return int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:]))
		}
	}
	return time.Now().UnixNano()
}

// outage captures, on the client's side of a link, what happens while its broker cannot be reached and nobody says so.
func (l *lab) outage(ctx context.Context, silent time.Duration, p *probe) (*diagnose.Result, error) {
	way := link.Params{Delay: 5 * time.Millisecond}
	n, err := tun.Open(ctx, link.Config{Profile: link.Profile{Name: "causes", Up: way, Down: way}, Seed: l.seed})
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.Close() }()
	i, err := l.startIn(ctx, n.Broker())
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.stop(context.WithoutCancel(ctx)) }()
	file := newPcap(layers.LinkTypeRaw)
	n.Observe(func(d link.Direction, at int64, size int, head []byte, v link.Verdict) {
		if d == link.Up || v == link.Accepted { // what the link lost on the way down the client's side never saw
			file.add(at, head, size)
		}
	})
	p.dial = func(ctx context.Context) (net.Conn, error) { return n.Device().Dial(ctx, "tcp", i.address()) }
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		_ = clock.Pause(ctx, time.Second)
		_ = n.Down(true)
		_ = clock.Pause(ctx, silent)
		_ = n.Down(false)
	})
	if _, err := p.run(ctx); err != nil {
		return nil, err
	}
	_, _ = n.Counters() // what was seen before it returns has been told
	n.Observe(nil)
	return file.diagnosed()
}
