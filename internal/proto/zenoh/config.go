package zenoh

import (
	"fmt"
	"math"
	"time"
)

// Config is what all clients of a group share. It is only read. Check it with Validate before connecting.
type Config struct {
	User, Password string        // empty = none is presented
	Block          bool          // messages wait at a congested link instead of being dropped there
	BestEffort     bool          // messages travel in the best-effort channel instead of the reliable one
	Lease          time.Duration // after which the router may take a silent client for dead; 0 = Zenoh's default, 10 s
	MaxPayload     int           // bytes that we send and accept; 0 = what the format allows, 4 GiB
}

// defaultLease is Zenoh's.
const defaultLease = 10 * time.Second

// Validate says what in the configuration makes no sense, or nil.
func (c *Config) Validate() error {
	switch {
	case c.Lease < 0 || c.Lease > 0 && c.Lease < LeaseParts*time.Millisecond:
		return fmt.Errorf("zenoh: lease %v is shorter than %v", c.Lease, LeaseParts*time.Millisecond)
	case c.MaxPayload < 0 || uint64(c.MaxPayload) > math.MaxUint32:
		return fmt.Errorf("zenoh: maximum payload %d is not between 0 and %d", c.MaxPayload, uint32(math.MaxUint32))
	case c.User == "" && c.Password != "":
		return fmt.Errorf("zenoh: a password needs a user")
	}
	return nil
}

func (c *Config) lease() time.Duration {
	if c.Lease > 0 {
		return c.Lease
	}
	return defaultLease
}

func (c *Config) maxPayload() uint64 {
	if c.MaxPayload > 0 {
		return uint64(c.MaxPayload)
	}
	return math.MaxUint32
}
