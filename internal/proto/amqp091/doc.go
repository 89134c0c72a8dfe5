// Package amqp091 speaks AMQP 0-9-1 as sessions without I/O: [Client] is what the engines drive, [Server] as much of a
// broker's side as tests and the broker with known faults need.
//
// The protocol is frames on numbered channels; a message is a method frame, a content header frame and body frames:
//
//	                                         client: "AMQP" 0 0 9 1
//	server: connection.start                 client: connection.start-ok with SASL response
//	server: connection.tune                  client: connection.tune-ok, connection.open
//	server: connection.open-ok               client: channel.open, exchange.declare if wanted
//	server: channel.open-ok, declare-ok      → Ready
//	                                         client: queue.declare, queue.bind, basic.qos, basic.consume
//	server: …-ok, basic.consume-ok           → Subscribed: whatever is published from now on reaches us
//	                                         client: basic.publish, header, body
//	server: basic.ack or basic.nack          → Acked, for QoS 1 (publisher confirms)
//	server: basic.return, header, body       → Acked with an error: unroutable
//	server: basic.deliver, header, body      → Delivered; the client acknowledges it if the subscription has QoS 1
//
// A topic is a routing key, its levels are separated by dots. QoS 0 is publishing without confirms and consuming without
// acknowledgements, QoS 1 is both with them; there is no QoS 2. A session uses one channel.
//
// What a mover (something that owns a socket) has to know:
//
//   - Feed may report an event and consume nothing: all messages that one basic.ack settles, and a refused subscription
//     before the error that ends the channel. Only "nothing consumed and nothing reported" means that more bytes are
//     needed. Need then says how many, as far as it is known.
//   - Tick is wanted once right after Ready: only then is the heartbeat known.
//   - When a connection is lost, messages that were not confirmed are forgotten: no Acked will come for their tokens.
//     [Client.InFlight], read before Open, says how many there are.
//   - A [BlockedError] (Kind None) tells that the broker takes no messages for now; Room is 0 until it changes its mind.
//
// Publishing, and receiving messages whose body is one frame, allocate nothing once the table of unconfirmed messages
// has grown to the window in use.
//
// Section numbers in comments are those of the AMQP 0-9-1 specification (2008) and its list of methods.
package amqp091
