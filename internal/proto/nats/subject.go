package nats

import (
	"fmt"
)

// checkSubject reports why a message cannot be published to subject.
func checkSubject(subject []byte) error {
	if len(subject) > maxLine/2 {
		return fmt.Errorf("nats: subject of %d bytes is too long", len(subject))
	}
	start := 0 // of the current token
	for i, c := range subject {
		if c > '>' { // letters, mostly: neither blank nor separator nor wildcard
			continue
		}
		switch {
		case c <= ' ':
			return fmt.Errorf("nats: subject %q has a blank or control character", shorten(subject))
		case c == '.':
			if i == start {
				return errEmptyToken(subject)
			}
			start = i + 1
		case (c == '*' || c == '>') && i == start && (i+1 == len(subject) || subject[i+1] == '.'):
			return fmt.Errorf("nats: cannot publish to the wildcard subject %q", shorten(subject))
		}
	}
	if start == len(subject) {
		return errEmptyToken(subject)
	}
	return nil
}

func errEmptyToken(subject []byte) error {
	if len(subject) == 0 {
		return fmt.Errorf("nats: the subject is empty")
	}
	return fmt.Errorf("nats: subject %q has an empty token", shorten(subject))
}

// checkPattern reports why pattern cannot be subscribed to. * stands for one token, > at the end for one or more.
func checkPattern(pattern []byte) error {
	if len(pattern) > maxLine/2 {
		return fmt.Errorf("nats: subject of %d bytes is too long", len(pattern))
	}
	start := 0
	for i, c := range pattern {
		switch {
		case c <= ' ':
			return fmt.Errorf("nats: subject %q has a blank or control character", shorten(pattern))
		case c == '.':
			if i == start {
				return errEmptyToken(pattern)
			}
			start = i + 1
		case c == '>' && i == start && i+1 < len(pattern) && pattern[i+1] == '.':
			return fmt.Errorf("nats: subject %q has > before its end", shorten(pattern))
		}
	}
	if start == len(pattern) {
		return errEmptyToken(pattern)
	}
	return nil
}

func checkGroup(group string) error {
	for _, c := range []byte(group) {
		if c <= ' ' {
			return fmt.Errorf("nats: queue group %q has a blank or control character", shorten([]byte(group)))
		}
	}
	return nil
}

// Match reports whether a message published to subject reaches a subscription to pattern. Both must be valid.
func Match[P, S ~string | ~[]byte](pattern P, subject S) bool {
	p, s := 0, 0
	for p < len(pattern) {
		pEnd, sEnd := tokenEnd(pattern, p), tokenEnd(subject, s)
		if s >= len(subject) {
			return false
		}
		if pEnd-p == 1 && pattern[p] == '>' && pEnd == len(pattern) {
			return true
		}
		if !(pEnd-p == 1 && pattern[p] == '*') {
			if pEnd-p != sEnd-s {
				return false
			}
			for i := range pEnd - p {
				if pattern[p+i] != subject[s+i] {
					return false
				}
			}
		}
		p, s = pEnd+1, sEnd+1
	}
	return s >= len(subject)
}

func tokenEnd[T ~string | ~[]byte](b T, i int) int {
	for i < len(b) && b[i] != '.' {
		i++
	}
	return i
}
