// Package tun is a weak network of the kernel's own TCP: two network namespaces without a name, one for devices and one for
// brokers, joined by two TUN devices between which this program carries the packets through a link.Machine in each direction.
// Clients and brokers run in them unmodified; every segment is a packet of at most MTU bytes, for the devices offload nothing.
//
// # Addresses
//
// A device has an address of its own from 198.18.0.0/16 (the range of RFC 2544, routed nowhere), 198.18.0.1 first. The
// broker's namespace is 198.19.0.1. What brokers listen to on their loopback interface is reached from the devices at Loopback, and
// by Dial of the device's Place at 127.0.0.1, too: on the way the addresses are rewritten so that brokers see clients at 127.18.0.0/16 and
// take them for local ones, as they do in a trial without a link.
//
// # What is left when the program is gone
//
// Nothing: namespaces are held by file descriptors and threads, and a TUN device lives as long as its descriptor. Programs started in
// a namespace keep it until they end; the guard sees to that.
package tun

import "net/netip"

// MTU is the largest IP packet.
const MTU = 1500

// Name is what Facts and users call this backend.
const Name = "tun"

// Addresses within the network.
var (
	Broker   = netip.MustParseAddr("198.19.0.1")   // of the broker's namespace
	Loopback = netip.MustParseAddr("198.19.127.1") // where devices reach 127.0.0.1 of the broker's namespace
	Device   = netip.MustParseAddr("198.18.0.1")   // of the first device
)

// devices is how many addresses devices have; the one behind the last is the first again.
const devices = 65_000

// deviceAddr returns the address of a device, counted from 0.
func deviceAddr(n int) netip.Addr {
	a := Device.As4()
	n = n%devices + 1
	a[2], a[3] = byte(n>>8), byte(n)
	return netip.AddrFrom4(a)
}
