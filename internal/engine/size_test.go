package engine

import (
	"testing"
	"unsafe"
)

// What an idle connection costs here: itself and its place in the timers. The loop's part and the session's come on top; all
// three are to stay within 128 bytes.
func TestConnectionIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(client{}) + unsafe.Sizeof(timers{}.heap[0]); size > 68 {
		t.Errorf("%d bytes", size)
	}
}
