package main

import (
	"fmt"
	"io"
	"strings"
)

// printWrapped prints text behind head, its further lines indented as far.
func printWrapped(w io.Writer, head, text string, width int) {
	indent := strings.Repeat(" ", len(head))
	line := head
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > width && line != head && line != indent {
			_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
}
