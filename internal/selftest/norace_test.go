//go:build !race

package selftest

const raceDetector = false
