package zenoh

import (
	"fmt"
	"strings"
)

// checkKey says what is wrong with a key expression, or nil: chunks between slashes, none of them empty, and none of the
// characters that mean something else. Where wild is true a chunk may be * (any chunk) or ** (any number of chunks).
// See https://github.com/eclipse-zenoh/roadmap/blob/main/rfcs/ALL/Key%20Expressions.md. The form $* within a chunk is not
// supported.
func checkKey(key string, wild bool) error {
	if strings.ContainsAny(key, "#?$") {
		return fmt.Errorf("zenoh: %q is no key expression: no #, ? or $", key)
	}
	for chunk := range strings.SplitSeq(key, "/") {
		isWild := chunk == "*" || chunk == "**"
		switch {
		case chunk == "":
			return fmt.Errorf("zenoh: %q is no key expression: it has an empty chunk", key)
		case strings.Contains(chunk, "*") && !isWild:
			return fmt.Errorf("zenoh: %q is no key expression: * stands for whole chunks only", key)
		case isWild && !wild:
			return fmt.Errorf("zenoh: %q is no key to publish to: it has wildcards", key)
		}
	}
	return nil
}

// cut splits a key expression before its first wildcard: what comes before is declared, as Zenoh's own clients do.
func cut(key string) (prefix, suffix string) {
	i := strings.IndexByte(key, '*')
	switch {
	case i < 0:
		return key, ""
	case i == 0:
		return "", key
	}
	return key[:i-1], key[i-1:]
}

// Match reports whether a key expression, which may have wildcards, matches a key. Both must be well formed.
func Match(expr string, key []byte) bool {
	for expr != "" {
		chunk, rest, _ := strings.Cut(expr, "/")
		if chunk == "**" {
			return matchMany(rest, key)
		}
		k, left := cutChunk(key)
		anyChunk := chunk == "*" && len(k) > 0 && k[0] != '@'
		if len(key) == 0 || chunk != string(k) && !anyChunk {
			return false
		}
		expr, key = rest, left
	}
	return len(key) == 0
}

// matchMany matches what follows ** after any number of chunks, none of which may begin with @.
func matchMany(rest string, key []byte) bool {
	for {
		if rest == "" && len(key) == 0 || rest != "" && Match(rest, key) {
			return true
		}
		if len(key) == 0 || key[0] == '@' {
			return false
		}
		_, key = cutChunk(key)
	}
}

func cutChunk(key []byte) (chunk, rest []byte) {
	for i, c := range key {
		if c == '/' {
			return key[:i], key[i+1:]
		}
	}
	return key, nil
}
