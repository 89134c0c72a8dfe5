//go:build !windows

package run

import (
	"errors"
	"os"
)

// syncDir makes new names in a folder survive a power failure.
func syncDir(r *os.Root) error {
	d, err := r.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
