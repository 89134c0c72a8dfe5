//go:build unix

package golang

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// mapSamples makes the file of samples and maps it.
func (a *agent) mapSamples() (err error) {
	if a.Samples == "" {
		return nil
	}
	f, err := os.OpenFile(a.Samples, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	size := headerSize + recordSize*a.Capacity
	if err := f.Truncate(int64(size)); err != nil {
		return err
	}
	a.memory, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	clear(a.memory) // no page faults later
	copy(a.memory, magic)
	binary.LittleEndian.PutUint32(a.memory[offVersion:], 1)
	binary.LittleEndian.PutUint32(a.memory[offRecord:], recordSize)
	binary.LittleEndian.PutUint64(a.memory[offCapacity:], uint64(a.Capacity))
	return nil
}
