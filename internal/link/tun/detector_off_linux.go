//go:build !race

package tun

// raceDetector tells that this program is built with the race detector.
const raceDetector = false
