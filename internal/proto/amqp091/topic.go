package amqp091

// Match reports whether a message with this routing key reaches a queue that is bound to a topic exchange with this
// binding key (§3.1.3.3). Words are separated by dots; * stands for one word, # for any number of them, also none.
func Match[P, K ~string | ~[]byte](binding P, key K) bool {
	b, k := 0, 0
	bLimit, kLimit := wordLimit(binding), wordLimit(key)
	retryB, retryK := -1, -1 // where to go on if what is behind the last # does not fit: it takes a word more
	for b < bLimit || k < kLimit {
		bEnd, kEnd := wordEnd(binding, b), wordEnd(key, k)
		switch {
		case b < bLimit && string(binding[b:bEnd]) == "#":
			retryB, retryK = bEnd+1, k
			b = bEnd + 1
		case b < bLimit && k < kLimit && sameWord(binding[b:bEnd], key[k:kEnd]):
			b, k = bEnd+1, kEnd+1
		case retryB < 0 || retryK >= kLimit:
			return false
		default:
			retryK = wordEnd(key, retryK) + 1
			b, k = retryB, retryK
		}
	}
	return true
}

// wordLimit is where the word behind the last one would begin. An empty string has no words.
func wordLimit[T ~string | ~[]byte](s T) int {
	if len(s) == 0 {
		return 0
	}
	return len(s) + 1
}

func sameWord[P, K ~string | ~[]byte](pattern P, word K) bool {
	return string(pattern) == "*" || string(pattern) == string(word)
}

// wordEnd is where the word that begins at i ends.
func wordEnd[T ~string | ~[]byte](s T, i int) int {
	for i < len(s) && s[i] != '.' {
		i++
	}
	return i
}
