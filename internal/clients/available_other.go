//go:build !linux

package clients

func available() uint64 { return 0 }
