// Package zenoh speaks Zenoh 1.x (wire version 9) over TCP as sessions without I/O: [Client] publishes and subscribes as a
// Zenoh client does, and [Server] is the router's side for tests.
//
// TCP carries batches: two bytes of length, little-endian, and up to 65,535 bytes of transport messages. A conversation:
//
//	client: InitSyn (role, identity, batch size, patch)   router: InitAck (…, cookie)
//	client: OpenSyn (lease, first number, cookie)         router: OpenAck (lease, first number)        → Ready
//	client: Frame[Declare key expression 1 "a/b"; Declare subscriber 1 on 1; Interest 7]
//	                                                      router: Frame[Declare final 7]               → Subscribed
//	client: Frame[Push 1: Put "payload"]                  router: Frame[Push 1: Put "payload"]         → Delivered
//	both: KeepAlive four times in a lease, Close with a reason
//
// A Frame has a sequence number and is reliable or best effort; a message that does not fit into a batch travels in
// Fragments. Key expressions that were declared are named by their number.
//
// Zenoh confirms neither messages nor subscriptions. A message of QoS 0 is all there is; what is asked for per message is what
// happens at a congested link: it is dropped there (the default) or waits (block). A subscription is confirmed here by a
// probe behind it: an Interest that nothing matches, which the router answers at once, and in order, since we do not ask
// for priorities. (A message to ourselves would be no probe: a router never sends a message back to where it came from.)
//
// What the guarantees mean is Zenoh's: delivery is at most once, hop by hop; a router stores nothing.
//
// The formats are those of the messages' descriptions in the crate zenoh-protocol, https://docs.rs/zenoh-protocol.
package zenoh
