package resp

// Match reports whether Redis's pattern matches all of s: * stands for any characters, ? for one, [a-z] and [^a-z] for
// one in or outside a set, and \ takes the meaning of the character behind it. No character is special in s.
func Match[P, S ~string | ~[]byte](pattern P, s S) bool {
	p, i := 0, 0
	star, again := -1, 0 // where to go on when the rest does not match: behind the last *, one character further
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, again = p, i
			continue
		}
		if p < len(pattern) {
			if size, ok := matchOne(pattern, p, s[i]); ok {
				p, i = p+size, i+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		again++
		p, i = star, again
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne compares c with what stands at p, which is no *, and returns how much of the pattern that is.
func matchOne[P ~string | ~[]byte](pattern P, p int, c byte) (size int, ok bool) {
	switch pattern[p] {
	case '?':
		return 1, true
	case '[':
		return matchSet(pattern, p, c)
	case '\\':
		if p+1 < len(pattern) {
			return 2, pattern[p+1] == c
		}
	}
	return 1, pattern[p] == c
}

// matchSet compares c with the set that begins at p. A set without an end ends with the pattern.
func matchSet[P ~string | ~[]byte](pattern P, p int, c byte) (size int, ok bool) {
	i := p + 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	for ; i < len(pattern) && pattern[i] != ']'; i++ {
		low := pattern[i]
		switch {
		case low == '\\' && i+1 < len(pattern):
			i++
			low = pattern[i]
		case i+2 < len(pattern) && pattern[i+1] == '-':
			i += 2
			high := pattern[i]
			ok = ok || min(low, high) <= c && c <= max(low, high)
			continue
		}
		ok = ok || low == c
	}
	return min(i+1, len(pattern)) - p, ok != not
}
