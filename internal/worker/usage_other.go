//go:build !unix

package worker

import "time"

func cpuTime() (time.Duration, bool) { return 0, false }
