//go:build linux

package uring

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Probe tells why this host cannot send through a ring, by sending over a pair of sockets; nil = it can.
func Probe() error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // a ring belongs to a thread
		defer runtime.UnlockOSThread()
		done <- probe()
	}()
	return <-done
}

func probe() (err error) {
	r, err := New(2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("io_uring: a pair of sockets to try it: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1])) }()
	if err := r.Enable(); err != nil {
		return err
	}
	word, got := []byte("probe"), make([]byte, 16)
	if err := r.Places(1); err != nil {
		return err
	}
	if err := r.Place(0, pair[0]); err != nil {
		return err
	}
	r.Queue(0, word, 7)
	if err := r.Submit(); err != nil {
		return err
	}
	o, told := r.Next()
	switch {
	case o.Err != nil:
		return fmt.Errorf("io_uring: a send: %w", o.Err)
	case !told || o.Tag != 7 || o.N != len(word):
		return fmt.Errorf("io_uring: a send of %d bytes ended with %d", len(word), o.N)
	}
	n, _, err := unix.Recvfrom(pair[1], got, unix.MSG_DONTWAIT)
	if err != nil || !bytes.Equal(got[:n], word) {
		return fmt.Errorf("io_uring: what was sent did not arrive: %q, %w", got[:max(n, 0)], err)
	}
	return nil
}
