//go:build !linux

package clients

import (
	"runtime"

	"github.com/mqlab/mqlab/internal/agent"
)

// isolate keeps the sender on one thread.
func isolate() (release func(), i Isolation, place agent.Place) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread, Isolation{Why: "this system does not pin threads"}, agent.Anywhere
}
