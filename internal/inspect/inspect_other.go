//go:build !linux

package inspect

import "context"

// Process looks at a process for a while; only Linux can.
func Process(context.Context, Options) (*Report, error) { return nil, ErrUnsupported }
