package resp

import (
	"fmt"
	"time"
)

// Config is what all clients of a group share. It is only read. Check it with Validate before connecting.
type Config struct {
	User, Password string        // of the ACL; a password without a user is that of the user "default"
	RESP2          bool          // do not ask for RESP3
	KeepAlive      time.Duration // between two PINGs; 0 = none
	Window         int           // our unacknowledged messages of QoS 1; 0 = no limit
	MaxPayload     int           // bytes that the server accepts (proto-max-bulk-len); 0 = Redis's default, 512 MiB

	// The rest is for Streams.
	MaxLen   int           // entries that a stream keeps, roughly (MAXLEN ~); 0 = all
	Batch    int           // entries that one read brings at most; 0 = 256
	Block    time.Duration // how long a read waits for entries, in whole milliseconds; 0 = 2 s
	HoldAcks bool          // never acknowledge what is received
	// ClaimIdle is after how long, in whole milliseconds, a reader takes over what another member of its group has received,
	// but not acknowledged: that one may be gone. 0 = never.
	ClaimIdle time.Duration
}

// Validate says what in the configuration makes no sense, or nil.
func (c *Config) Validate() error {
	switch {
	case c.KeepAlive < 0:
		return fmt.Errorf("redis: keep-alive %v is negative", c.KeepAlive)
	case c.Window < 0:
		return fmt.Errorf("redis: window %d is negative", c.Window)
	case c.MaxPayload < 0 || c.MaxPayload > maxBulk:
		return fmt.Errorf("redis: maximum payload %d is not between 0 and %d", c.MaxPayload, maxBulk)
	case c.MaxLen < 0:
		return fmt.Errorf("redis: maximum stream length %d is negative", c.MaxLen)
	case c.Batch < 0 || c.Batch > maxElements:
		return fmt.Errorf("redis: batch of %d is not between 0 and %d", c.Batch, maxElements)
	case c.Block < 0 || c.Block > 0 && c.Block < time.Millisecond:
		return fmt.Errorf("redis: block %v is not 0 and less than a millisecond", c.Block)
	case c.ClaimIdle < 0 || c.ClaimIdle > 0 && c.ClaimIdle < time.Millisecond:
		return fmt.Errorf("redis: claiming after %v is not 0 and less than a millisecond", c.ClaimIdle)
	case c.User != "" && c.Password == "":
		return fmt.Errorf("redis: user %q has no password", c.User)
	}
	return nil
}

func (c *Config) maxPayload() int {
	if c.MaxPayload > 0 {
		return c.MaxPayload
	}
	return maxBulk
}

func (c *Config) batch() int {
	if c.Batch > 0 {
		return c.Batch
	}
	return 256
}

// block is how long a read waits, in milliseconds, where groups take turns. Keep-alive PINGs wait for it.
func (c *Config) block(groups int) int {
	d := c.Block
	if d == 0 {
		d = 2 * time.Second
	}
	if c.KeepAlive > 0 {
		d = min(d, c.KeepAlive)
	}
	return max(1, int(d.Milliseconds())/groups)
}
