package prototest_test

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
)

// zenohSizes are payload sizes around the edges of numbers, batches and Fragments.
var zenohSizes = []int{0, 1, 40, 127, 128, 129, 16383, 16384, 49000, 49130, 49140, 49152, 65535, 65536, 100000, 1 << 20}

// zenohClient are the settings of a client of the library.
func zenohClient(addr string, more ...string) []string {
	return slices.Concat([]string{`mode="client"`, fmt.Sprintf(`connect/endpoints=["tcp/%s"]`, addr)}, zenohPatient, more)
}

// zenohPatient are settings by which nothing is dropped only because this machine is busy.
var zenohPatient = []string{
	"transport/link/tx/queue/congestion_control/drop/wait_before_drop=9000000",
	"transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments=9000000",
}

// zenohListens prints the key, size and hash of what arrives on each expression that its input names.
const zenohListens = `
import hashlib
def heard(s):
    b = s.payload.to_bytes()
    print("%s %d %s" % (s.key_expr, len(b), hashlib.sha256(b).hexdigest()), flush=True)
for line in sys.stdin:
    session.declare_subscriber(line.strip(), heard)
    list(session.liveliness().get("@probe"))
    print("subscribed", flush=True)
`

// zenohTalks publishes N bytes of the tests' pattern on a key for each line "KEY N block|drop|declared|background" of its
// input.
const zenohTalks = `
publishers = {}
pattern = bytes((i * 7 + (i >> 8) * 13 + (i >> 16)) & 255 for i in range(1 << 20))
for line in sys.stdin:
    key, n, how = line.split()
    b = pattern[:int(n)]
    if how == "declared":
        if key not in publishers:
            publishers[key] = session.declare_publisher(key, congestion_control=zenoh.CongestionControl.BLOCK)
        publishers[key].put(b, attachment="and more")
    elif how == "drop":
        session.put(key, b, congestion_control=zenoh.CongestionControl.DROP, encoding="text/plain;x")
    elif how == "background":
        session.put(key, b, congestion_control=zenoh.CongestionControl.BLOCK, priority=zenoh.Priority.BACKGROUND, express=True)
    else:
        session.put(key, b, congestion_control=zenoh.CongestionControl.BLOCK)
    session.delete("elsewhere/deleted")
    print("sent", flush=True)
`

// TestZenohOracle: what we say the library hears through the real router, and the other way round.
func TestZenohOracle(t *testing.T) {
	t.Parallel()
	addr := zenohRouter(t, zenohPatient...)
	for name, qos := range map[string]string{"priorities": "true", "no priorities": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := zenohClient(addr, "transport/unicast/qos/enabled="+qos)
			for _, cfg := range []*zenoh.Config{{Block: true}, {}, {BestEffort: true, Block: true}} {
				libraryHears(t, addr, settings, cfg)
			}
			librarySpeaks(t, addr, settings, &zenoh.Config{}, "block", "drop", "declared", "background")
		})
	}
}

// libraryHears publishes with our client what a client of the library is to hear.
func libraryHears(t *testing.T, addr string, settings []string, cfg *zenoh.Config) {
	t.Helper()
	base := "lab/" + strings.ToLower(fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, t.Name(), *cfg)))[:8])
	in, lines := zenohProgram(t, zenohListens, settings...)
	for _, expr := range []string{base + "/*/x", base + "/all/**"} {
		say(t, in, lines, expr, "subscribed")
	}
	c := dialZenoh(t, addr, cfg)
	for i, size := range zenohSizes {
		for _, key := range []string{base + "/a/x", base + "/all", fmt.Sprintf("%s/all/%d", base, i)} {
			c.publish(key, prototest.Pattern(size))
			want := fmt.Sprintf("%s %d %x", key, size, sha256.Sum256(prototest.Pattern(size)))
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("the library heard %q instead of %q", lines.Text(), want)
			}
		}
	}
}

// librarySpeaks lets a client of the library publish what ours is to hear, in each of several ways.
func librarySpeaks(t *testing.T, addr string, settings []string, cfg *zenoh.Config, ways ...string) {
	t.Helper()
	base := "lab/" + strings.ToLower(fmt.Sprintf("%x", sha256.Sum256([]byte(t.Name())))[:8])
	in, lines := zenohProgram(t, zenohTalks, settings...)
	c := dialZenoh(t, addr, cfg)
	c.subscribe(base + "/*/x")
	c.subscribe(base + "/exact")
	c.subscribe("elsewhere/**")
	for _, size := range zenohSizes {
		for _, how := range ways {
			for _, key := range []string{base + "/a/x", base + "/exact"} {
				say(t, in, lines, fmt.Sprintln(key, size, how), "sent")
				ev, err := c.Next(patience)
				if err != nil {
					t.Fatalf("%d bytes on %s (%s): %v", size, key, how, err)
				}
				if ev.Kind != proto.Delivered || string(ev.Topic) != key || string(ev.Payload) != string(prototest.Pattern(size)) {
					t.Fatalf("%d bytes on %s (%s) arrived as an event of kind %d, %d bytes on %s", size, key, how, ev.Kind, len(ev.Payload), ev.Topic)
				}
			}
		}
	}
}

// say sends a line to a program and waits for its answer.
func say(t *testing.T, in io.Writer, lines *bufio.Scanner, line, answer string) {
	t.Helper()
	if _, err := fmt.Fprintln(in, strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != answer {
		t.Fatalf("to %q the program said %q instead of %q", line, lines.Text(), answer)
	}
}

// zenohPeer is one of our clients on a connection.
type zenohPeer struct {
	*clientPeer[*zenoh.Client]
	token uint64
}

// dialZenoh connects a client and waits until it is accepted.
func dialZenoh(t *testing.T, addr string, cfg *zenoh.Config) *zenohPeer {
	t.Helper()
	return &zenohPeer{clientPeer: dialPeer(t, addr, zenoh.NewClient(cfg, rand.Text()))}
}

// subscribe waits for the confirmation.
func (p *zenohPeer) subscribe(filter string) {
	p.t.Helper()
	p.token++
	p.ask(proto.Subscription{Token: p.token, Topic: filter})
	p.expect(proto.Subscribed, p.token)
}

func (p *zenohPeer) publish(key string, payload []byte) {
	p.t.Helper()
	p.say(proto.Message{Topic: []byte(key), Payload: payload})
}

// barrier waits until the router has handled all that was sent.
func (p *zenohPeer) barrier() {
	p.t.Helper()
	p.token++
	p.mark(p.token)
	p.expect(proto.Barrier, p.token)
}
