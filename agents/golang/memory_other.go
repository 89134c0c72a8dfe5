//go:build !unix

package golang

import "errors"

func (a *agent) mapSamples() error { return errors.New("agents run on Unix only") }
