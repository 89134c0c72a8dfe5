//go:build race

package tun

// raceDetector tells that this program is built with the race detector. Such carriers stay out of the real-time class: those of two
// networks at once were seen to spin for minutes there, each on one of two cores, and to let nothing else run.
const raceDetector = true
