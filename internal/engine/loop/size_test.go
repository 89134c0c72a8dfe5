//go:build linux

package loop

import (
	"testing"
	"unsafe"
)

// See the test of this name in package engine.
func TestConnectionIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(sock{}); size > 12 {
		t.Errorf("%d bytes", size)
	}
}
