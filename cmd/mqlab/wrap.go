package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// printWrapped prints text behind head, its further lines indented as far.
func printWrapped(w io.Writer, head, text string, width int) {
	indent := strings.Repeat(" ", columnsOf(head))
	line, used := head, len(indent)
	for _, word := range wordsOf(text) {
		n := columnsOf(strings.TrimRight(word, " "))
		if used+n > width && line != head && line != indent {
			_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
			line, used = indent, len(indent)
		}
		line += word
		used += columnsOf(word)
	}
	_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// wordsOf cuts text where a line may end: behind spaces, and behind each character of a script that has none.
func wordsOf(text string) (list []string) {
	for _, field := range strings.Fields(text) {
		runes := []rune(field)
		from := 0
		for i := 1; i < len(runes); i++ {
			if wide(runes[i-1]) && !unicode.IsPunct(runes[i]) {
				list = append(list, string(runes[from:i]))
				from = i
			}
		}
		list = append(list, string(runes[from:])+" ")
	}
	return list
}

// columnsOf is how many columns of a terminal text takes.
func columnsOf(text string) (n int) {
	for _, r := range text {
		n++
		if wide(r) {
			n++
		}
	}
	return n
}

// wide characters take two columns: Chinese and its punctuation.
func wide(r rune) bool { return r >= 0x2e80 && r < 0xa000 || r >= 0xff00 && r < 0xff61 }
