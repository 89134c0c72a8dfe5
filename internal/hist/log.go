package hist

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// A log is the text form of a series of histograms, one line for each interval, in HdrHistogram's format 1.3
// (HistogramLogWriter in its Java sources):
//
//	#[StartTime: seconds since the epoch (seconds since epoch), date]
//	Tag=tag,start seconds,length seconds,largest value in milliseconds,encoded histogram
//
// Times of our own logs are absolute, so that an interval may lie before the start of the log.
const (
	logVersion   = "1.3"
	maxValueUnit = 1e6 // nanoseconds in the unit of the largest value
	tagPrefix    = "Tag="
	startPrefix  = "#[StartTime: "
	basePrefix   = "#[BaseTime: "
)

// LogWriter writes a log. Each call writes once, whole lines only.
type LogWriter struct {
	w      io.Writer
	origin int64 // ms since the epoch
	enc    encoder
	line   []byte
}

// NewLogWriter starts a log: it writes the header with the time that intervals are counted from, to the millisecond.
func NewLogWriter(w io.Writer, origin time.Time) (*LogWriter, error) {
	l := &LogWriter{w: w, origin: origin.UnixMilli()}
	b := fmt.Appendf(nil, "#[Histogram log format version %s]\n", logVersion)
	b = appendMillis(append(b, startPrefix...), l.origin)
	b = fmt.Appendf(b, " (seconds since epoch), %s]\n", origin.UTC().Format(time.RFC3339))
	b = append(b, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`+"\n"...)
	_, err := w.Write(b)
	return l, err
}

// Write adds the histogram of one interval. Start and end are nanoseconds since the origin, kept to the millisecond; start may be
// negative. A tag, which may be empty, must have no comma, space or line break.
func (l *LogWriter) Write(tag string, start, end int64, h *Hist) (err error) {
	if strings.ContainsAny(tag, ", \r\n") {
		return fmt.Errorf("tag %q has a comma, a space or a line break", tag)
	}
	from, to := l.millis(start), l.millis(end)
	if from < 0 || to < from {
		return fmt.Errorf("interval from %d ns to %d ns is before 1970 or has no length", start, end)
	}
	b := l.line[:0]
	if tag != "" {
		b = append(append(append(b, tagPrefix...), tag...), ',')
	}
	b = append(appendMillis(b, from), ',')
	b = append(appendMillis(b, to-from), ',')
	b = append(strconv.AppendFloat(b, float64(h.Max())/maxValueUnit, 'f', 3, 64), ',')
	if b, err = l.enc.append(b, h); err != nil {
		return err
	}
	l.line = append(b, '\n')
	_, err = l.w.Write(l.line)
	return err
}

// millis converts nanoseconds since the origin into milliseconds since the epoch.
func (l *LogWriter) millis(ns int64) int64 {
	return l.origin + int64(time.Duration(ns).Round(time.Millisecond)/time.Millisecond)
}

// appendMillis appends ms >= 0 as seconds with three decimals.
func appendMillis(b []byte, ms int64) []byte { return fmt.Appendf(b, "%d.%03d", ms/1000, ms%1000) }

// Interval is one line of a log.
type Interval struct {
	Tag        string
	Start, End int64 // ns since the start time of the log, exact to a millisecond
	Hist       *Hist
}

// ReadLog reads a whole log; see Intervals.
func ReadLog(r io.Reader) ([]Interval, error) {
	var all []Interval
	for i, err := range Intervals(r) {
		if err != nil {
			return all, err
		}
		all = append(all, i)
	}
	return all, nil
}

// Intervals reads a log, its own or that of another HdrHistogram tool, interval by interval. A last line without a line break that
// cannot be read was cut when its writer was killed: it is left out. Any other error names the line and ends the sequence.
func Intervals(r io.Reader) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		var p logParser
		lines := bufio.NewReader(r)
		for n := 1; ; n++ {
			line, err := lines.ReadBytes('\n')
			if err != nil && err != io.EOF {
				yield(Interval{}, err)
				return
			}
			interval, ok, parseErr := p.parse(bytes.TrimRight(line, "\r\n"))
			switch {
			case parseErr != nil && err == io.EOF:
				return
			case parseErr != nil:
				yield(Interval{}, fmt.Errorf("histogram log line %d: %w", n, parseErr))
				return
			case ok && !yield(interval, nil), err == io.EOF:
				return
			}
		}
	}
}

// logParser knows what the lines before have said about time, in milliseconds.
type logParser struct {
	start, base       int64
	hasStart, hasBase bool
}

// parse reads one line; ok is true if it holds an interval.
func (p *logParser) parse(line []byte) (i Interval, ok bool, err error) {
	switch {
	case len(line) == 0, line[0] == '"':
		return i, false, nil
	case bytes.HasPrefix(line, []byte(startPrefix)):
		p.start, err = parseHeaderTime(line[len(startPrefix):])
		p.hasStart = err == nil
		return i, false, err
	case bytes.HasPrefix(line, []byte(basePrefix)):
		p.base, err = parseHeaderTime(line[len(basePrefix):])
		p.hasBase = err == nil
		return i, false, err
	case line[0] == '#':
		return i, false, nil
	}
	i, err = p.interval(line)
	return i, err == nil, err
}

func (p *logParser) interval(line []byte) (i Interval, err error) {
	if rest, tagged := bytes.CutPrefix(line, []byte(tagPrefix)); tagged {
		tag, after, found := bytes.Cut(rest, []byte{','})
		if !found {
			return i, errors.New("nothing behind the tag")
		}
		i.Tag, line = string(tag), after
	}
	fields := bytes.SplitN(line, []byte{','}, 4)
	if len(fields) < 4 {
		return i, fmt.Errorf("%d fields, want start, length, largest value and histogram", len(fields))
	}
	from, err := parseMillis(fields[0])
	if err != nil {
		return i, err
	}
	length, err := parseMillis(fields[1])
	if err != nil {
		return i, err
	}
	i.Start = (p.absolute(from) - p.start) * 1e6
	i.End = i.Start + length*1e6
	i.Hist = new(Hist)
	return i, i.Hist.UnmarshalText(fields[3])
}

// absolute applies HdrHistogram's rule: without a base time, time stamps more than a year before the start time count from
// there.
func (p *logParser) absolute(ms int64) int64 {
	const year = 365 * 24 * 3600 * 1000
	if !p.hasStart {
		p.start, p.hasStart = ms, true
	}
	if !p.hasBase {
		p.hasBase = true
		if ms < p.start-year {
			p.base = p.start
		}
	}
	return p.base + ms
}

// parseHeaderTime reads the seconds at the start of b, up to a space.
func parseHeaderTime(b []byte) (int64, error) {
	seconds, _, _ := bytes.Cut(b, []byte{' '})
	return parseMillis(seconds)
}

// parseMillis reads seconds as whole milliseconds.
func parseMillis(b []byte) (int64, error) {
	s, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(math.Abs(s) < 1<<32) {
		return 0, fmt.Errorf("no time in seconds: %q", b)
	}
	return int64(math.Round(s * 1000)), nil
}
