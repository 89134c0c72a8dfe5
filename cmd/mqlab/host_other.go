//go:build !linux

package main

import "github.com/mqlab/mqlab/internal/run"

func describeSystem(*run.Host) {}

func openFiles() (uint64, bool) { return 0, false }

func freePorts() (int, bool) { return 0, false }
