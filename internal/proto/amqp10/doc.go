// Package amqp10 speaks AMQP 1.0 as sessions without I/O: [Client] is what the engines drive, [Server] as much of a
// broker's side as tests and the broker with known faults need.
//
// The protocol is frames on a connection with one session; messages travel on links, from a source to a target:
//
//	client: "AMQP" 3 1 0 0                   server: the same, sasl-mechanisms
//	client: sasl-init                        server: sasl-outcome
//	client: "AMQP" 0 1 0 0, open             server: the same
//	client: begin                            server: begin                      → Ready
//	client: attach as receiver               server: attach                     → Subscribed
//	client: flow with link credit            server: transfer                   → Delivered
//	                                         client: disposition, for QoS 1; flow when half of the credit is used
//	client: attach as sender                 server: attach, flow with credit   → Room
//	client: transfer                         server: disposition, for QoS 1     → Acked
//	either: detach, end, close with an error condition
//
// QoS 0 is a message that its sender settles at once, QoS 1 one that the receiver settles (in the mode "first"). There is
// no QoS 2. What a topic means is up to the addresses in the configuration, see [Terminus].
//
// What a mover (something that owns a socket) has to know:
//
//   - Feed may report an event and consume nothing: all messages that one disposition or detach settles, and a refused
//     subscription before the error that ends the session. Only "nothing consumed and nothing reported" means that more
//     bytes are needed. Need then says how many, as far as it is known.
//   - Tick is wanted once right after Ready: only then are the idle times known.
//   - When a connection is lost, messages that were not settled are forgotten: no Acked will come for their tokens.
//     [Client.InFlight], read before Open, says how many there are.
//   - Publish keeps what flow control does not let through: the first message of a topic until its sender has credit
//     (unless the sender comes first), and the end of a message with more frames than the session window. Room is 0 then.
//     Room speaks of the topics in use; a further one waits like the first. Both leave only if Feed is called with what
//     the peer sends, also when nothing is subscribed and QoS is 0.
//   - RabbitMQ 3.10 accepts a message that reaches no queue.
//
// Publishing and receiving messages of one frame allocate nothing once the table of unsettled messages has grown to the
// window in use.
//
// Section numbers in comments are those of the AMQP 1.0 specification (OASIS, 2012): §1 types, §2 transport,
// §3 messaging, §5 security; "§2.7.5" is section 7.5 of part 2.
package amqp10
