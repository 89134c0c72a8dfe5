package mqtt

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	errTopicEmpty    = errors.New("the topic is empty")
	errTopicLong     = errors.New("the topic is longer than 65535 bytes")
	errTopicText     = errors.New("the topic is not valid UTF-8 or holds a NUL")
	errTopicWildcard = errors.New("the topic holds a wildcard")
)

// checkTopic says why a message cannot be published to topic (§4.7.1, §4.7.3), or nil.
func checkTopic(topic []byte) error {
	switch {
	case len(topic) == 0:
		return errTopicEmpty
	case len(topic) > 65535:
		return errTopicLong
	}
	for _, c := range topic {
		if c == 0 || c == '+' || c == '#' || c >= utf8.RuneSelf {
			return checkUnusualTopic(topic)
		}
	}
	return nil
}

// checkUnusualTopic checks a topic that is more than plain ASCII.
func checkUnusualTopic(topic []byte) error {
	switch {
	case !validText(topic):
		return errTopicText
	case bytes.IndexByte(topic, '+') >= 0 || bytes.IndexByte(topic, '#') >= 0:
		return errTopicWildcard
	}
	return nil
}

// checkFilter says why filter is no topic filter (§4.7.1, §4.8.2), or nil.
func checkFilter(filter string) error {
	if filter == "" || len(filter) > 65535 || !validText([]byte(filter)) {
		return fmt.Errorf("topic filter %.40q is empty, too long, or no text", filter)
	}
	rest := filter
	if group, shared := strings.CutPrefix(filter, "$share/"); shared {
		name, after, ok := strings.Cut(group, "/")
		if !ok || name == "" || after == "" || strings.ContainsAny(name, "+#") {
			return fmt.Errorf("shared subscription %q is not $share/GROUP/FILTER", filter)
		}
		rest = after
	}
	for more := true; more; {
		var level string
		level, rest, more = strings.Cut(rest, "/")
		if len(level) > 1 && strings.ContainsAny(level, "+#") {
			return fmt.Errorf("topic filter %q: a wildcard must be a whole level", filter)
		}
		if level == "#" && more {
			return fmt.Errorf("topic filter %q: # must be the last level", filter)
		}
	}
	return nil
}

// Match reports whether a message published to topic goes to a subscription of filter (§4.7). A shared filter
// ($share/group/filter) matches what its inner filter matches. Both must be well formed.
func Match[F, T string | []byte](filter F, topic T) bool {
	f, t := withoutShare(filter), topic
	if len(t) > 0 && t[0] == '$' && len(f) > 0 && (f[0] == '+' || f[0] == '#') {
		return false
	}
	for {
		if len(f) == 1 && f[0] == '#' {
			return true
		}
		fl, fMore := level(f)
		tl, tMore := level(t)
		if !(len(fl) == 1 && fl[0] == '+') && string(fl) != string(tl) {
			return false
		}
		if !fMore || !tMore {
			// "a/#" also matches its parent "a".
			return fMore == tMore || (fMore && string(f[len(fl)+1:]) == "#")
		}
		f, t = f[len(fl)+1:], t[len(tl)+1:]
	}
}

func withoutShare[F string | []byte](filter F) F {
	const prefix = "$share/"
	if len(filter) <= len(prefix) || string(filter[:len(prefix)]) != prefix {
		return filter
	}
	inner := filter[len(prefix):]
	group, more := level(inner)
	if !more {
		return filter
	}
	return inner[len(group)+1:]
}

// level returns the part of s before its first slash and whether there is one.
func level[S string | []byte](s S) (first S, more bool) {
	for i := range len(s) {
		if s[i] == '/' {
			return s[:i], true
		}
	}
	return s, false
}

// validText reports whether b is a UTF-8 encoded string as MQTT wants it (§1.5.4).
func validText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0
}
