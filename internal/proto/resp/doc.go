// Package resp speaks the Redis protocol as sessions without I/O: [PubSub] publishes to and subscribes to channels,
// [Streams] adds to and reads streams with consumer groups, and [Server] is the broker's side of pub/sub for tests and
// for the broker with known faults.
//
// Commands are arrays of counted strings; the server answers them in order. A conversation of PubSub:
//
//	client: HELLO 3 AUTH user password SETNAME name    server: %7 … (a map; an old server refuses: RESP2)
//	client: PING                                       server: +PONG           → Ready
//	client: SUBSCRIBE a, PSUBSCRIBE b/*                server: >3 subscribe …  → Subscribed
//	client: PUBLISH a payload                          server: :1              → Acked (QoS 1)
//	                                                   server: >3 message …    → Delivered
//
// What the guarantees mean is Redis's: a PUBLISH that is acknowledged was accepted and handed to the connections of the
// subscribers of that moment, and is stored nowhere; no receiver at all is no error. Delivery of pub/sub is at most
// once, and its events say QoS 0. An acknowledged XADD is in the stream; it survives the server as far as the server's
// persistence says. Delivery from a stream is at least once where entries are acknowledged (subscriptions of QoS 1).
//
// Redis has no session to resume: after a connection is lost, messages that were not acknowledged stay unconfirmed.
//
// See https://redis.io/docs/latest/develop/reference/protocol-spec.
package resp
