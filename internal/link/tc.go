package link

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseTC reads the options of tc's netem, such as "delay 300ms 50ms loss 5% rate 256kbit", or a whole command up to them. The params do
// what Linux does with them, in mode netem (loss gemodel: in mode physical, which has bursts); said are sentences about what that
// is, where it is not what one might think. Units are those of tc(8): a bare time is in microseconds, a bare rate in bits per second,
// and bps are bytes per second.
func ParseTC(text string) (p Params, said []string, err error) {
	r := tcReader{words: strings.Fields(text)}
	for i, w := range r.words {
		if w == "netem" {
			r.words = r.words[i+1:]
			break
		}
	}
	if len(r.words) == 0 {
		return p, nil, errors.New("there are no options of netem, such as \"delay 300ms 50ms loss 5% rate 256kbit\"")
	}
	p.Mode = NetEm
	r.p = &p
	for len(r.words) > 0 {
		option := r.take()
		read, ok := tcOptions[option]
		if !ok {
			return p, nil, fmt.Errorf("%q is no option of netem that is read here: delay, distribution, loss, duplicate, corrupt, rate, limit", option)
		}
		if err := read(&r); err != nil {
			return p, nil, fmt.Errorf("%s: %w", option, err)
		}
	}
	if p.Burst > 0 {
		p.Mode, p.QueuePackets = Physical, 0
		if p.Burst == 1 {
			p.Burst = 0
		}
	}
	if err := p.Validate(); err != nil {
		return p, nil, err
	}
	return p, r.explain(), nil
}

// Physical returns p as one may have meant it: packets wait for the rate before they travel, losses are independent, and the queue
// holds a second's worth.
func (p Params) Physical() Params {
	p.Mode, p.QueuePackets, p.LossCorrelation = Physical, 0, 0
	return p
}

// tcReader reads options word by word.
type tcReader struct {
	words []string
	p     *Params
	limit bool // it was written
}

var tcOptions = map[string]func(*tcReader) error{
	"delay":        (*tcReader).delay,
	"latency":      (*tcReader).delay,
	"distribution": (*tcReader).distribution,
	"loss":         (*tcReader).loss,
	"drop":         (*tcReader).loss,
	"duplicate":    func(r *tcReader) error { return r.share(&r.p.Duplicate) },
	"corrupt":      func(r *tcReader) error { return r.share(&r.p.Corrupt) },
	"rate":         (*tcReader).rate,
	"limit":        (*tcReader).packets,
	"reorder": func(*tcReader) error {
		return errors.New("is not read here: a delay that varies reorders, too")
	},
	"slot": func(*tcReader) error { return errors.New("is not read here") },
	"ecn":  func(*tcReader) error { return errors.New("is not read here: packets are lost, not marked") },
}

func (r *tcReader) take() string {
	if len(r.words) == 0 {
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// number reports whether the next word begins with a digit: then it still belongs to the option.
func (r *tcReader) number() bool {
	return len(r.words) > 0 && (r.words[0][0] >= '0' && r.words[0][0] <= '9' || r.words[0][0] == '.')
}

func (r *tcReader) delay() (err error) {
	if r.p.Delay, err = tcTime(r.take()); err != nil {
		return err
	}
	if !r.number() {
		return nil
	}
	if r.p.Jitter, err = tcTime(r.take()); err != nil {
		return err
	}
	if r.number() {
		r.p.Correlation, err = tcShare(r.take())
	}
	return err
}

func (r *tcReader) distribution() error {
	d := Distribution(r.take())
	switch d {
	case Uniform, Normal, Pareto, ParetoNormal:
		r.p.Distribution = d
		return nil
	}
	return fmt.Errorf("%q is not known here: uniform, normal, pareto, paretonormal", d)
}

func (r *tcReader) loss() (err error) {
	kind := ""
	if !r.number() {
		kind = r.take()
	}
	switch kind {
	case "", "random":
		if r.p.Loss, err = tcShare(r.take()); err == nil && r.number() {
			r.p.LossCorrelation, err = tcShare(r.take())
		}
		return err
	case "gemodel":
		return r.gilbert()
	}
	return fmt.Errorf("%q is not read here: a share such as 5%%, or gemodel p r", kind)
}

// gilbert reads the probabilities of the two changes: into the state in which all is lost, and out of it.
func (r *tcReader) gilbert() error {
	in, err := tcShare(r.take())
	out := 1 - in // as tc has it
	if err == nil && r.number() {
		out, err = tcShare(r.take())
	}
	switch {
	case err != nil:
		return err
	case r.number():
		return errors.New("only p and r of gemodel are read here: in the bad state everything is lost, in the good one nothing")
	case in == 0:
		r.p.Loss = 0
		return nil
	case out == 0:
		return errors.New("with r = 0 the link would never come back")
	}
	r.p.Loss, r.p.Burst = in/(in+out), 1/out
	return nil
}

func (r *tcReader) share(to *float64) (err error) {
	if *to, err = tcShare(r.take()); err == nil && r.number() {
		err = errors.New("its correlation is not read here")
	}
	return err
}

func (r *tcReader) rate() (err error) {
	if r.p.Rate, err = tcRate(r.take()); err != nil {
		return err
	}
	if r.number() {
		if r.p.OverheadBytes, err = strconv.Atoi(r.take()); err != nil || r.p.OverheadBytes > math.MaxUint16 {
			return errors.New("the overhead of a packet is a number of bytes up to 65535")
		}
	}
	if r.number() {
		return errors.New("cells are not read here")
	}
	return nil
}

func (r *tcReader) packets() error {
	n, err := strconv.Atoi(r.take())
	if err != nil || n < 1 || n > 1e6 {
		return errors.New("is a number of packets from 1 to 1000000")
	}
	r.p.QueuePackets, r.limit = n, true
	return nil
}

// tcNumber splits a value into number and unit.
func tcNumber(text string) (v float64, unit string, err error) {
	end := strings.IndexFunc(text, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
	if end < 0 {
		end = len(text)
	}
	if text == "" {
		return 0, "", errors.New("no value follows it, such as 300ms, 5% or 256kbit")
	}
	if v, err = strconv.ParseFloat(text[:end], 64); err != nil || math.IsInf(v, 0) {
		return 0, "", fmt.Errorf("%q does not begin with a number", text)
	}
	return v, strings.ToLower(text[end:]), nil
}

var tcTimes = map[string]float64{"": 1e3, "us": 1e3, "usec": 1e3, "usecs": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "s": 1e9, "sec": 1e9, "secs": 1e9, "ns": 1, "nsec": 1, "nsecs": 1}

func tcTime(text string) (time.Duration, error) {
	v, unit, err := tcNumber(text)
	if err != nil {
		return 0, err
	}
	size, ok := tcTimes[unit]
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is no time: known units: s, ms, us, ns; without one it is in microseconds", text)
	case v*size > float64(longest):
		return 0, fmt.Errorf("%q is too long: at most %s", text, longest)
	}
	return time.Duration(v * size), nil
}

// tcRates are in bits per second; those in bps are bytes.
var tcRates = map[string]float64{
	"": 1, "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12,
	"kibit": 1 << 10, "mibit": 1 << 20, "gibit": 1 << 30, "tibit": 1 << 40,
	"bps": 8, "kbps": 8e3, "mbps": 8e6, "gbps": 8e9, "tbps": 8e12,
	"kibps": 8 << 10, "mibps": 8 << 20, "gibps": 8 << 30, "tibps": 8 << 40,
}

func tcRate(text string) (int64, error) {
	v, unit, err := tcNumber(text)
	if err != nil {
		return 0, err
	}
	size, ok := tcRates[unit]
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is no rate: known units: bit, kbit, mbit, gbit, and bps, kbps, mbps, gbps for bytes", text)
	case v*size > fastest || v*size < 8:
		return 0, fmt.Errorf("%q is out of range: 8bit to 1tbit", text)
	}
	return int64(v * size), nil
}

// tcShare reads 5%; without the sign it is a part of 1.
func tcShare(text string) (float64, error) {
	v, unit, err := tcNumber(text)
	switch {
	case err != nil:
		return 0, err
	case unit == "%":
		v /= 100
	case unit != "":
		return 0, fmt.Errorf("%q is no share, such as 5%%", text)
	}
	if v > 1 {
		return 0, fmt.Errorf("%q is more than all", text)
	}
	return v, nil
}
