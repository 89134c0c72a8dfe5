package diagnose

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ns is a time that a text shows with its unit.
func ns(t int64) time.Duration { return time.Duration(t) }

// ratio is shown in percent.
type ratio float64

func percent(x float64) ratio { return ratio(x) }

func figure(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

func factor(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) + "×" }

// number is a figure without unit, with no more digits than count.
func number(x float64) string {
	if x >= 100 || x <= -100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// size is bytes with a unit.
func size(bytes float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if bytes < 1024 && bytes > -1024 {
			return strconv.FormatFloat(bytes, 'g', 4, 64) + " " + unit
		}
		bytes /= 1024
	}
	return strconv.FormatFloat(bytes, 'g', 4, 64) + " GiB"
}

// known is an option of a socket in words: on, off, or ? where it was not looked at.
func known(on *bool) string {
	switch {
	case on == nil:
		return "?"
	case *on:
		return "on"
	}
	return "off"
}

// Languages are those that texts exist in.
var Languages = []string{"en", "zh"}

//go:embed texts/*.txt
var files embed.FS

// texts of one language by their keys.
var texts = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, language := range Languages {
		b, err := files.ReadFile("texts/" + language + ".txt")
		if err != nil {
			panic(err) // it is part of the program
		}
		all[language] = map[string]string{}
		for line := range strings.Lines(string(b)) {
			if key, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
				all[language][key] = text
			}
		}
	}
	return all
})

// Text is a finding in words of a language ("en", "zh").
type Text struct {
	What     string   // the cause, in a few words
	Evidence []string // in figures
	Fix      string   // what to change, with the exact option of each library
	Verify   string   // how to see that it helped
}

// In says a finding in a language.
func (f *Finding) In(language string) Text {
	t := Text{
		What: say(language, string(f.Cause)+".what"), Fix: say(language, string(f.Cause)+".fix"), Verify: say(language, string(f.Cause)+".verify"),
	}
	for _, e := range f.Evidence {
		t.Evidence = append(t.Evidence, e.in(language))
	}
	return t
}

// In says what is missing to decide about a cause.
func (g Gap) In(language string) string {
	return fmt.Sprintf(say(language, "undecided"), say(language, string(g.Cause)+".what"), say(language, "source."+string(g.Needs)))
}

func (e Evidence) in(language string) string {
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		switch a := a.(type) {
		case time.Duration:
			args[i] = duration(a)
		case ratio:
			args[i] = strconv.FormatFloat(float64(a)*100, 'f', 0, 64) + " %"
		default:
			args[i] = fmt.Sprint(a)
		}
	}
	return fmt.Sprintf(say(language, "evidence."+e.Key), args...)
}

// duration writes a time with three digits that count.
func duration(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Nanosecond, "ns"}, {time.Microsecond, "µs"}, {time.Millisecond, "ms"}} {
		text := strconv.FormatFloat(float64(d)/float64(unit.of), 'g', 3, 64)
		if x, err := strconv.ParseFloat(text, 64); err == nil && x < 1000 && x > -1000 {
			return text + " " + unit.name
		}
	}
	if s := d.Seconds(); s < 1000 && s > -1000 {
		return strconv.FormatFloat(s, 'g', 3, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// Note is a remark beside a diagnosis, in a language: key is that of a text note.*, args are what it has room for.
func Note(language, key string, args ...any) string {
	return fmt.Sprintf(say(language, "note."+key), args...)
}

func say(language, key string) string { return texts()[language][key] }
