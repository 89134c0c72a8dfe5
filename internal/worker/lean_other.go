//go:build !linux

package worker

func resident() (uint64, bool) { return 0, false }

func unmapProgram() {}
