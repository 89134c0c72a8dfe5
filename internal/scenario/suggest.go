package scenario

import (
	"fmt"
	"strings"
)

// Suggest returns the end of an error message about an unknown word: the known word that was probably meant, or the
// list of all known words.
func Suggest(word string, known []string) string {
	best, distance := "", min(len(word), 1+max(1, len(word)/3))
	for _, k := range known {
		d := edits(strings.ToLower(word), k)
		begun := best != "" && d == distance && strings.HasPrefix(k, word) && !strings.HasPrefix(best, word)
		if d < distance || begun {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known: " + strings.Join(known, ", ")
}

// edits is the Damerau-Levenshtein distance of neighbours: insertions, deletions, changes and swaps of two letters.
func edits(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
