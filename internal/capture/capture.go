// Package capture finds the timing of MQTT over TCP in a capture of packets (pcap or pcapng), without libpcap: what was published and
// acknowledged when, retransmissions, acknowledgements that were delayed, windows that closed, and who ended a connection. Captures may
// begin in the middle of connections, be cut off, and hold anything.
package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Capture is what a capture told.
type Capture struct {
	Packets     int  // read
	Strange     int  // of these: no TCP over IP, or malformed
	Beyond      int  // of connections that were too many to follow
	Truncated   bool // the file ends within a packet
	Connections []*Connection
	flows       map[flow]*Connection
	transit     map[uint64][]int64 // when messages came to a broker and were not yet seen to leave it, by what they say
}

// flow is one connection, its lower address first.
type flow struct{ a, b netip.AddrPort }

// maxConnections bounds the memory for captures of scans and floods.
const maxConnections = 100_000

// errNoCapture: the file is of another kind.
var errNoCapture = errors.New("this is no capture: a file as tcpdump -w or Wireshark writes it (pcap, pcapng) is needed")

// source reads packets, whatever the kind of file.
type source interface {
	ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	LinkType() layers.LinkType
}

// Read reads a capture to its end, or to where it is cut off.
func Read(r io.Reader) (*Capture, error) {
	packets, err := open(bufio.NewReaderSize(r, 1<<16))
	if err != nil {
		return nil, err
	}
	c := &Capture{flows: map[flow]*Connection{}, transit: map[uint64][]int64{}}
	d, err := newDecoder(packets.LinkType())
	if err != nil {
		return nil, err
	}
	for {
		data, info, err := packets.ZeroCopyReadPacketData()
		if err != nil {
			c.Truncated = !errors.Is(err, io.EOF)
			break
		}
		c.Packets++
		p, ok := d.decode(data)
		if !ok {
			c.Strange++
			continue
		}
		p.at = info.Timestamp.UnixNano()
		c.add(&p)
	}
	for _, k := range c.Connections {
		k.finish()
	}
	if c.Packets == 0 {
		return nil, errors.New("there is no packet in the capture")
	}
	return c, nil
}

func open(r *bufio.Reader) (source, error) {
	magic, err := r.Peek(4)
	if err != nil {
		return nil, errNoCapture
	}
	var s source
	if binary.LittleEndian.Uint32(magic) == 0x0a0d0d0a {
		s, err = pcapgo.NewNgReader(r, pcapgo.NgReaderOptions{SkipUnknownVersion: true})
	} else {
		s, err = pcapgo.NewReader(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoCapture, err)
	}
	return s, nil
}

// packet is one TCP segment.
type packet struct {
	at            int64 // ns since 1970
	from, to      netip.AddrPort
	seq, ack      uint32
	window        uint16
	syn, fin, rst bool
	acks          bool
	length        int // of its data, also of what was not captured
	data          []byte
}

// decoder takes packets apart, without allocation.
type decoder struct {
	parser  *gopacket.DecodingLayerParser
	ipv6    *gopacket.DecodingLayerParser // of captures without a link layer; parser is for IPv4 then
	decoded []gopacket.LayerType
	eth     layers.Ethernet
	vlan    layers.Dot1Q
	sll     layers.LinuxSLL
	sll2    layers.LinuxSLL2
	loop    layers.Loopback
	ip4     layers.IPv4
	ip6     layers.IPv6
	tcp     layers.TCP
	rest    gopacket.Payload
}

// newDecoder reads frames of a kind of link; the error is for one that it does not know: it would take everything for malformed.
func newDecoder(link layers.LinkType) (*decoder, error) {
	d := &decoder{}
	parser := func(first gopacket.LayerType) *gopacket.DecodingLayerParser {
		p := gopacket.NewDecodingLayerParser(first, &d.eth, &d.vlan, &d.sll, &d.sll2, &d.loop, &d.ip4, &d.ip6, &d.tcp, &d.rest)
		p.IgnoreUnsupported = true
		return p
	}
	switch link {
	case layers.LinkTypeLinuxSLL:
		d.parser = parser(layers.LayerTypeLinuxSLL)
	case layers.LinkTypeLinuxSLL2:
		d.parser = parser(layers.LayerTypeLinuxSLL2)
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		d.parser = parser(layers.LayerTypeLoopback)
	case layers.LinkTypeRaw, layers.LinkTypeIPv4, layers.LinkTypeIPv6, 12, 14: // LINKTYPE_RAW of BSD and OpenBSD
		d.parser, d.ipv6 = parser(layers.LayerTypeIPv4), parser(layers.LayerTypeIPv6)
	case layers.LinkTypeEthernet:
		d.parser = parser(layers.LayerTypeEthernet)
	default:
		return nil, fmt.Errorf("packets of a link of type %d (%v) are not read: capture on Ethernet, any or the loopback (tcpdump -i any), or raw IP", uint8(link), link)
	}
	return d, nil
}

// decode returns the TCP segment of a frame; ok is false for everything else.
func (d *decoder) decode(frame []byte) (p packet, ok bool) {
	defer func() { // a frame can be anything, and the layers are another's code
		if recover() != nil {
			ok = false
		}
	}()
	d.decoded = d.decoded[:0]
	parser := d.parser
	if d.ipv6 != nil && len(frame) > 0 && frame[0]>>4 == 6 {
		parser = d.ipv6
	}
	_ = parser.DecodeLayers(frame, &d.decoded) // what was decoded counts, also of a frame that was cut
	var from, to netip.Addr
	total := -1 // bytes of the segment, by the IP header
	tcp := false
	for _, layer := range d.decoded {
		switch layer {
		case layers.LayerTypeIPv4:
			from, _ = netip.AddrFromSlice(d.ip4.SrcIP)
			to, _ = netip.AddrFromSlice(d.ip4.DstIP)
			if d.ip4.FragOffset > 0 {
				return p, false
			}
			if d.ip4.Length > 0 { // 0: segments larger than a packet, as the network card cuts them
				total = int(d.ip4.Length) - 4*int(d.ip4.IHL)
			}
		case layers.LayerTypeIPv6:
			from, _ = netip.AddrFromSlice(d.ip6.SrcIP)
			to, _ = netip.AddrFromSlice(d.ip6.DstIP)
			if d.ip6.Length > 0 {
				total = int(d.ip6.Length)
			}
		case layers.LayerTypeTCP:
			tcp = true
		}
	}
	if !tcp || !from.IsValid() || !to.IsValid() {
		return p, false
	}
	t := &d.tcp
	p = packet{
		from: netip.AddrPortFrom(from.Unmap(), uint16(t.SrcPort)), to: netip.AddrPortFrom(to.Unmap(), uint16(t.DstPort)),
		seq: t.Seq, ack: t.Ack, window: t.Window, syn: t.SYN, fin: t.FIN, rst: t.RST, acks: t.ACK, data: t.Payload,
	}
	p.length = len(p.data)
	if total >= 4*int(t.DataOffset) {
		p.length = total - 4*int(t.DataOffset)
		p.data = p.data[:min(len(p.data), p.length)]
	}
	return p, true
}

// add books a segment with its connection. The same addresses begin a new one with a new SYN.
func (c *Capture) add(p *packet) {
	f := flow{p.from, p.to}
	if p.to.Compare(p.from) < 0 {
		f = flow{p.to, p.from}
	}
	k := c.flows[f]
	if k == nil || p.syn && !p.acks && k.over {
		if len(c.Connections) >= maxConnections {
			c.Beyond++
			return
		}
		k = newConnection(c, p)
		c.flows[f] = k
		c.Connections = append(c.Connections, k)
	}
	k.segment(p)
}

// Span returns the time between the first and the last packet of all connections.
func (c *Capture) Span() time.Duration {
	var from, to int64
	for i, k := range c.Connections {
		if i == 0 || k.First < from {
			from = k.First
		}
		to = max(to, k.Last)
	}
	return time.Duration(to - from)
}
