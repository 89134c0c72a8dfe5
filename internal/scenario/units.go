package scenario

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written 64, 64B, 1KB (1000), 1KiB (1024), 1MiB.
type Size int64

// Rate is a number of messages, or connections, per second.
type Rate struct {
	PerSecond float64
	Each      bool // for every publisher; otherwise in total
	Max       bool // as fast as possible
}

// ByteRate is a number of bytes per second, written 64KiB/s.
type ByteRate int64

// Quantum is auto, precise, or a duration from 1us to 1s.
type Quantum string

// Factor is a number from 1 to 1000; 0 = absent.
type Factor float64

// Backoff is jitter, or a duration from 1ms to 1h.
type Backoff string

// Fixed is the pause before each attempt to connect again; 0 = it grows and is scattered.
func (b Backoff) Fixed() time.Duration {
	d, _ := time.ParseDuration(string(b))
	return d
}

// Never is the session_expiry of sessions that do not expire: the largest that MQTT 5 can write, which means that there.
const Never = 0xFFFFFFFF * time.Second

// MaxSize bounds sizes, in bytes: the largest remaining length of an MQTT packet.
const MaxSize = 256<<20 - 1

// Bounds of rates, per second; the lower is about one a day.
const (
	minRate = 1e-5
	maxRate = 1e9
)

var sizeUnits = map[string]float64{
	"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

var rateUnits = map[string]float64{"s": 1, "m": 60, "h": 3600}

// number splits a text into its leading decimal number and the unit behind it.
func number(text string) (value float64, unit string, err error) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' || end == 0 && strings.ContainsRune("+-", rune(text[0]))) {
		end++
	}
	value, err = strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return 0, "", fmt.Errorf("%q does not start with a number", text)
	}
	if value < 0 {
		return 0, "", fmt.Errorf("%q is negative", text)
	}
	return value, strings.TrimSpace(text[end:]), nil
}

// parseDuration reads 500ms, 10s, 1m30s.
func parseDuration(text string) (time.Duration, error) {
	value, unit, err := number(text)
	if err != nil {
		return 0, err
	}
	if unit == "" && value == 0 {
		return 0, nil
	}
	if unit == "" {
		return 0, fmt.Errorf("%q has no unit: write %[1]ss or %[1]sms; known units: ns, us, ms, s, m, h", strings.TrimSpace(text))
	}
	d, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(text), " ", ""))
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: known units: ns, us, ms, s, m, h", text)
	}
	return d, nil
}

// parseSize reads 64, 64B, 1KiB, 1KB. No message is larger than 256 MiB.
func parseSize(text string) (int64, error) { return parseBytes(text, MaxSize) }

// ParseSize reads a size as scenarios write it: 256B, 10KiB, 1MiB.
func ParseSize(text string) (int, error) {
	n, err := parseSize(text)
	return int(n), err
}

// parseBytes reads a whole number of bytes, at most most.
func parseBytes(text string, most int64) (int64, error) {
	value, unit, err := number(text)
	if err != nil {
		return 0, err
	}
	factor, ok := sizeUnits[unit]
	if !ok {
		return 0, fmt.Errorf("%q is no size: known units: B, KB (1000), KiB (1024), MB, MiB, GB, GiB", text)
	}
	bytes := value * factor
	switch {
	case bytes > float64(most):
		return 0, fmt.Errorf("%q is too much: at most %d bytes", text, most)
	case bytes != math.Trunc(bytes):
		return 0, fmt.Errorf("%q is no whole number of bytes", text)
	}
	return int64(bytes), nil
}

// parseByteRate reads 64KiB/s.
func parseByteRate(text string) (ByteRate, error) {
	size, ok := strings.CutSuffix(strings.TrimSpace(text), "/s")
	if !ok {
		return 0, fmt.Errorf("%q is no speed: write for example 64KiB/s", text)
	}
	n, err := parseSize(size)
	if err == nil && n == 0 {
		err = errors.New("0 would never read: remove the key to read as fast as possible")
	}
	return ByteRate(n), err
}

// parseRate reads 100/s, 6000/m, 10/s each, max.
func parseRate(text string) (Rate, error) {
	text = strings.TrimSpace(text)
	if text == "max" {
		return Rate{Max: true}, nil
	}
	value, unit, err := number(text)
	if err != nil {
		return Rate{}, err
	}
	per, each := strings.CutSuffix(unit, " each")
	per, slash := strings.CutPrefix(strings.TrimSpace(per), "/")
	seconds, ok := rateUnits[strings.TrimSpace(per)]
	switch {
	case unit == "":
		return Rate{}, fmt.Errorf("%q has no unit: write %[1]s/s (in total), %[1]s/s each (every publisher), or max", text)
	case !slash || !ok:
		return Rate{}, fmt.Errorf("%q is no rate: write 100/s, 6000/m, 10/s each, or max", text)
	case value == 0:
		return Rate{}, fmt.Errorf("%q is no load: more than 0 is needed", text)
	case value/seconds < minRate || value/seconds > maxRate:
		return Rate{}, fmt.Errorf("%q is out of range: one a day to 1000000000/s", text)
	}
	return Rate{PerSecond: value / seconds, Each: each}, nil
}

// Total is the rate over n publishers in messages per second; 0 if it is as fast as possible.
func (r Rate) Total(n int) float64 {
	if r.Each {
		return r.PerSecond * float64(n)
	}
	return r.PerSecond
}

// parseQuantum reads auto, precise, or a duration.
func parseQuantum(text string) (Quantum, error) {
	if text == "auto" || text == "precise" {
		return Quantum(text), nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return "", fmt.Errorf("%q is neither auto, precise, nor a duration such as 50us", text)
	}
	if d < time.Microsecond || d > time.Second {
		return "", fmt.Errorf("%s is out of range: 1us to 1s", d)
	}
	return Quantum(d.String()), nil
}

// parseBackoff reads jitter, or a duration.
func parseBackoff(text string) (Backoff, error) {
	if text == "jitter" {
		return Backoff(text), nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return "", fmt.Errorf("%q is neither jitter nor a duration such as 1s", text)
	}
	if d < time.Millisecond || d > time.Hour {
		return "", fmt.Errorf("%s is out of range: 1ms to 1h", d)
	}
	return Backoff(d.String()), nil
}

// parseFactor reads 1.1.
func parseFactor(text string) (Factor, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 1 && n <= 1000) {
		return 0, fmt.Errorf("%q is no factor from 1 to 1000, such as 1.1", text)
	}
	return Factor(n), nil
}
