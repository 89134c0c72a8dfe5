package capture

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// builder writes a capture whose timing is known.
type builder struct {
	t      *testing.T
	link   layers.LinkType
	frames []frame
	now    time.Duration
}

type frame struct {
	at   time.Duration
	data []byte
}

// conn is one connection of a builder: what each side has sent.
type conn struct {
	b              *builder
	client, broker netip.AddrPort
	seq            [2]uint32 // of client, broker
	window         [2]uint16
}

const client, broker = 0, 1

func build(t *testing.T) *builder { return &builder{t: t, link: layers.LinkTypeEthernet} }

func (b *builder) conn(port uint16) *conn {
	return &conn{
		b: b, client: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port), broker: netip.MustParseAddrPort("10.0.0.2:1883"),
		seq: [2]uint32{1<<32 - 100, 5000}, window: [2]uint16{1000, 1000},
	}
}

// at moves the clock of the builder.
func (b *builder) at(d time.Duration) { b.now = d }

// raw writes one segment.
func (c *conn) raw(from int, seq, ack uint32, data []byte, change func(*layers.TCP)) {
	src, dst := c.client, c.broker
	if from == broker {
		src, dst = dst, src
	}
	tcp := &layers.TCP{
		SrcPort: layers.TCPPort(src.Port()), DstPort: layers.TCPPort(dst.Port()), Seq: seq, Ack: ack, ACK: true, Window: c.window[from],
	}
	if change != nil {
		change(tcp)
	}
	var ip gopacket.SerializableLayer
	v4 := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.IP(src.Addr().AsSlice()), DstIP: net.IP(dst.Addr().AsSlice())}
	ip = v4
	if err := tcp.SetNetworkLayerForChecksum(v4); src.Addr().Is6() || err != nil {
		v6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: net.IP(src.Addr().AsSlice()), DstIP: net.IP(dst.Addr().AsSlice())}
		if err := tcp.SetNetworkLayerForChecksum(v6); err != nil {
			c.b.t.Fatal(err)
		}
		ip = v6
	}
	list := []gopacket.SerializableLayer{ip, tcp, gopacket.Payload(data)}
	if c.b.link == layers.LinkTypeEthernet {
		list = append([]gopacket.SerializableLayer{&layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}}, list...)
	}
	out := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, list...); err != nil {
		c.b.t.Fatal(err)
	}
	c.b.frames = append(c.b.frames, frame{c.b.now, bytes.Clone(out.Bytes())})
}

// send writes data that acknowledge all that the other side sent.
func (c *conn) send(from int, data []byte) {
	c.raw(from, c.seq[from], c.seq[1-from], data, nil)
	c.seq[from] += uint32(len(data))
}

// ack writes an acknowledgement alone.
func (c *conn) ack(from int) { c.raw(from, c.seq[from], c.seq[1-from], nil, nil) }

// open writes the handshake and the MQTT one, 1 ms each.
func (c *conn) open(id string, keepAlive uint16) {
	syn := func(t *layers.TCP) { t.SYN, t.ACK = true, false }
	c.raw(client, c.seq[client], 0, nil, syn)
	c.seq[client]++
	c.b.now += time.Millisecond
	c.raw(broker, c.seq[broker], c.seq[client], nil, func(t *layers.TCP) { t.SYN = true })
	c.seq[broker]++
	c.ack(client)
	body := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2}, binary.BigEndian.AppendUint16(nil, keepAlive)...)
	body = append(binary.BigEndian.AppendUint16(body, uint16(len(id))), id...)
	c.send(client, control(0x10, body))
	c.b.now += time.Millisecond
	c.send(broker, []byte{0x20, 2, 0, 0})
}

// control is a control packet.
func control(first byte, body []byte) []byte {
	b := []byte{first}
	for n := len(body); ; {
		d := byte(n & 127)
		if n >>= 7; n > 0 {
			b = append(b, d|128)
			continue
		}
		return append(append(b, d), body...)
	}
}

// message is a PUBLISH to topic a.
func message(qos byte, id uint16, payload string) []byte {
	body := []byte{0, 1, 'a'}
	if qos > 0 {
		body = binary.BigEndian.AppendUint16(body, id)
	}
	return control(0x30|qos<<1, append(body, payload...))
}

func ackOf(id uint16) []byte { return binary.BigEndian.AppendUint16([]byte{0x40, 2}, id) }

var epoch = time.Unix(1_764_547_200, 0)

// pcap is the capture as tcpdump writes it.
func (b *builder) pcap() []byte {
	var out bytes.Buffer
	w := pcapgo.NewWriterNanos(&out)
	if err := w.WriteFileHeader(1<<16, b.link); err != nil {
		b.t.Fatal(err)
	}
	for _, f := range b.frames {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: epoch.Add(f.at), CaptureLength: len(f.data), Length: len(f.data)}, f.data); err != nil {
			b.t.Fatal(err)
		}
	}
	return out.Bytes()
}

// pcapng is the capture as Wireshark writes it.
func (b *builder) pcapng() []byte {
	var out bytes.Buffer
	w, err := pcapgo.NewNgWriter(&out, b.link)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range b.frames {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: epoch.Add(f.at), CaptureLength: len(f.data), Length: len(f.data)}, f.data); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.t.Fatal(err)
	}
	return out.Bytes()
}

func read(t *testing.T, data []byte) *Capture {
	t.Helper()
	c, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
