package resp

// cause says why a command was sent, and so what its reply means.
type cause uint8

const (
	toGreet       cause = iota // HELLO
	toLogIn                    // AUTH
	toName                     // CLIENT SETNAME
	toConnect                  // PING that completes the handshake
	toKeepAlive                // PING
	toBarrier                  // PING
	toPublish                  // QoS 0
	toPublishSure              // QoS 1
	toSubscribe                // SUBSCRIBE, PSUBSCRIBE, XGROUP CREATE
	toRead                     // XREADGROUP
	toClaim                    // XAUTOCLAIM
	toAck                      // XACK
)

// command is one that waits for its reply, or a run of PUBLISH or XADD of QoS 0.
type command struct {
	token uint64
	n     uint32 // of a run its length; of XGROUP CREATE the place of the stream
	cause cause
}

// queue holds the commands that wait for a reply, oldest first. A server answers in order.
type queue struct {
	waiting []command
	first   uint32 // index of the oldest
}

func (q *queue) push(c command) {
	if len(q.waiting) == cap(q.waiting) && int(q.first) > len(q.waiting)/2 {
		q.waiting = q.waiting[:copy(q.waiting, q.waiting[q.first:])]
		q.first = 0
	}
	q.waiting = append(q.waiting, c)
}

// pushRun adds a command of QoS 0, of which only the number matters.
func (q *queue) pushRun() {
	if !q.empty() {
		if last := &q.waiting[len(q.waiting)-1]; last.cause == toPublish && last.n < 1<<31 {
			last.n++
			return
		}
	}
	q.push(command{cause: toPublish, n: 1})
}

func (q *queue) empty() bool { return int(q.first) == len(q.waiting) }

// oldest must not be asked when there is none.
func (q *queue) oldest() *command { return &q.waiting[q.first] }

// pop removes the oldest command, or one of its run.
func (q *queue) pop() {
	if c := q.oldest(); c.cause == toPublish && c.n > 1 {
		c.n--
		return
	}
	q.first++
	if q.empty() {
		q.reset()
	}
}

// reset forgets all, but keeps the room of a publisher that is at work.
func (q *queue) reset() {
	q.first = 0
	q.waiting = q.waiting[:0]
}
