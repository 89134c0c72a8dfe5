package clients

// Variant are the named options of the clients; what is absent is as the library has it.
type Variant struct {
	Callback  string `json:"callback,omitempty"`
	WorkNS    int64  `json:"work_ns,omitempty"` // that a message costs the program
	Loop      string `json:"loop,omitempty"`
	GC        string `json:"gc,omitempty"`
	Retain    int    `json:"retain,omitempty"` // containers that the program keeps
	NoDelay   bool   `json:"nodelay,omitempty"`
	Log       bool   `json:"log,omitempty"`
	TLS       bool   `json:"tls,omitempty"`
	Allocator string `json:"allocator,omitempty"` // put before the program
	Unpinned  bool   `json:"unpinned,omitempty"`  // the scheduler moves the client as it likes
}

// Paced is a client that gets messages on a schedule, alone on its core.
type Paced struct {
	Interval int64 `json:"interval_ns"`
	Late     int   `json:"late"` // messages that the broker wrote after half of the interval had passed: not this client's doing
	Latency  Lone  `json:"latency"`
}

// Burst is a client that gets messages as fast as it takes them. Its latencies are those of a queue, and never ranked.
type Burst struct {
	PerSecond []float64 `json:"rounds_per_s"` // messages, from the first write to the last callback
	Queueing  Lone      `json:"queueing"`     // from the begin of the write to the callback: mostly the wait behind others
}

// Breakdown is where the time of a single message goes, as mean over the middle half of the messages by their total, so that the parts
// add up. Parts that could not be measured are absent.
type Breakdown struct {
	Count    int      `json:"count"`                 // messages in the means
	Total    float64  `json:"total_ns"`              // begin of the write to the end of the callback
	Network  *float64 `json:"network_ns,omitempty"`  // to the wake-up of a thread of the client: the kernel's send and receive
	Send     *float64 `json:"send_ns,omitempty"`     // of that, until the packet left to the loopback device, by the kernel's stamp
	Wake     *float64 `json:"wake_ns,omitempty"`     // until that thread came back from the kernel
	Dispatch *float64 `json:"dispatch_ns,omitempty"` // from there to the callback: reading, parsing, handing over to other threads
	Callback float64  `json:"callback_ns"`           // within the callback
	Rest     *float64 `json:"rest_ns,omitempty"`     // what is not told apart: from the last part known to the callback
	Awake    int      `json:"awake,omitempty"`       // messages left out because no thread had to be woken
	Method   string   `json:"method,omitempty"`      // how it was measured
	Why      string   `json:"why,omitempty"`         // why parts are absent
}

// Scaled is one client with several connections at once.
type Scaled struct {
	Client      string   `json:"client"`
	Connections int      `json:"connections"`
	By          string   `json:"by"` // threads, loop or processes
	Payload     int      `json:"payload_bytes"`
	QoS         int      `json:"qos"`
	Invalid     string   `json:"invalid,omitempty"`
	Messages    int      `json:"messages"`
	Received    int      `json:"received"`
	PerSecond   float64  `json:"per_s,omitempty"`              // of a burst over all connections
	Lone        *Lone    `json:"lone,omitempty"`               // single messages, to connections at random
	CPU         float64  `json:"cpu_per_message_ns,omitempty"` // of the burst
	Memory      uint64   `json:"memory_bytes,omitempty"`       // of all processes: private and shared by proportion
	PerConn     *float64 `json:"memory_per_connection_bytes,omitempty"`
	Threads     int      `json:"threads,omitempty"`
	Processes   int      `json:"processes,omitempty"`
	Switches    float64  `json:"switches_per_message,omitempty"`
	WaitRatio   float64  `json:"wait_ratio,omitempty"`
}

// Leak is the growth of a client's memory under steady load.
type Leak struct {
	Client    string  `json:"client"`
	Invalid   string  `json:"invalid,omitempty"`
	Duration  int64   `json:"duration_ns,omitempty"`
	Messages  int     `json:"messages,omitempty"`
	Readings  int     `json:"readings,omitempty"` // of the memory
	First     uint64  `json:"first_bytes,omitempty"`
	Last      uint64  `json:"last_bytes,omitempty"`
	Slope     float64 `json:"bytes_per_message"` // the median of what the memory grew per message, between parts of the time
	Low       float64 `json:"ci_low"`            // 95 % interval of it
	High      float64 `json:"ci_high"`
	Grows     bool    `json:"grows"`               // the interval is above nothing
	Undecided string  `json:"undecided,omitempty"` // why growth that was seen may be none
}

// Reconnect is what a client loses when its connection is cut, and comes back by itself.
type Reconnect struct {
	Client      string `json:"client"`
	How         string `json:"how"` // resubscribe = it subscribes again when it is connected; plain = it relies on the broker, with a clean session
	Invalid     string `json:"invalid,omitempty"`
	Messages    int    `json:"messages"` // due, one every interval
	Interval    int64  `json:"interval_ns"`
	Received    int    `json:"received"`
	Away        int    `json:"lost_away"`                // due while there was no connection
	Deaf        int    `json:"lost_unsubscribed"`        // due while connected, and not subscribed
	Cut         int    `json:"lost_cut"`                 // written, and not received: in the connection that was cut
	Reconnected int64  `json:"reconnected_ns,omitempty"` // from the cut to the new connection
	Subscribed  int64  `json:"subscribed_ns,omitempty"`  // from the cut to its subscription
}

// KeepAlive is a client whose callback blocks longer than its keep-alive.
type KeepAlive struct {
	Client       string `json:"client"`
	Invalid      string `json:"invalid,omitempty"`
	KeepAlive    int64  `json:"keepalive_ns"`
	Blocked      int64  `json:"blocked_ns"` // that the callback takes
	Pings        int    `json:"pings"`      // that came while it was blocked
	Disconnected bool   `json:"disconnected"`
	After        int64  `json:"disconnected_after_ns,omitempty"` // from the message, by the broker: silence of 1.5 times the keep-alive
}
