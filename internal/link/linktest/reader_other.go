//go:build !linux

package linktest

// newReader reads with our own time.
func newReader(s *socket) reader { return plain{s} }
