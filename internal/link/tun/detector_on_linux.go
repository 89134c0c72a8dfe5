//go:build race

package tun

// raceDetector tells that this program is built with the race detector, whose own locks spin: threads of the real-time class wait
// for each other there for ever when two networks have all cores of a small machine.
const raceDetector = true
