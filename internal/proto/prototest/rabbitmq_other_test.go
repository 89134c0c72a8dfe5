//go:build !unix

package prototest_test

import "os/exec"

// Where there are no process groups there is no Debian package of RabbitMQ either.

func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) bool { return false }
