package scenario

import "time"

// Defaults are what applies to a key that is not written.
func Defaults() Settings {
	return Settings{
		Load: Load{
			Pattern:    "pairs",
			Publishers: 1,
			Rate:       Rate{PerSecond: 100},
			Pacing:     "constant",
			Payload:    Payload{Size: 256, Form: "binary"},
			Window:     100,
			Topic:      "mqlab/{run}/{stream}",
			ClientID:   "mqlab-{run}-{role}-{n}",
		},
		Connect: Connect{
			Timeout:    10 * time.Second,
			KeepAlive:  60 * time.Second,
			CleanStart: true,
			Reconnect:  true,
			Backoff:    "jitter",
			TLS:        Encryption{Version: "off", Groups: "default"},
			Rate:       Rate{Max: true},
		},
		Broker:  Broker{Instances: 1},
		Outages: Outages{Kind: "none", Side: "both", Spread: "exponential", RepairSpread: "fixed"},
		Network: Network{Backend: "auto"},
		Phases: Phases{
			Settle:  500 * time.Millisecond,
			WarmUp:  2 * time.Second,
			Measure: 10 * time.Second,
			Drain:   5 * time.Second,
		},
		Engine: Engine{Kind: "auto", Pin: "auto", Quantum: "auto", Send: "auto", Writes: "auto", NoDelay: true, Verify: "sample"},
	}
}

// DefaultRepeat is how often a cell is measured unless repeat says otherwise: enough for an interval.
const DefaultRepeat = 5

// defaultSubject is compared when no subject is written.
const defaultSubject = "auto"
