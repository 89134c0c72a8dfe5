// Package mqtt speaks MQTT 3.1.1 and MQTT 5 as sans-I/O sessions: [Client] is a client's side of one connection,
// [Server] as much of a broker's side as tests and the faulty broker need.
//
// Start with [NewClient] and [Config]. A mover (something that owns a socket) calls Open, writes what it appended,
// presents received bytes to Feed until Feed neither consumes nor reports anything, calls Publish and Subscribe when
// the socket has room, and Tick when it is due.
//
// Three things differ from what a mover might expect:
//
//   - Feed may report an event and consume nothing: Resend after a resumed session, and all but the last filter of a
//     SUBSCRIBE or UNSUBSCRIBE of several. Only "nothing consumed and nothing reported" (n == 0, Kind None) means
//     that more bytes are needed. [Need] then says how many the packet has in total, so that the mover can size its buffer.
//   - Tick is wanted once right after Ready: the broker may have asked for a shorter keep-alive than ours.
//   - When a connection is lost and the broker did not keep the session (Ready without Resumed), the messages that were
//     not acknowledged are forgotten here: no Acked will come for their Tokens, they stay unconfirmed.
//     [Client.InFlight], read before Open, says how many there are.
//
// Publishing and receiving allocate nothing once the in-flight table has grown to the window in use.
//
// Section numbers in comments are those of the MQTT 5.0 standard (OASIS, 2019) unless 3.1.1 is named.
package mqtt
