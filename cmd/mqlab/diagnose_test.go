package main

import (
	"os"
	"strconv"
)

func init() {
	commands["shorten"] = shorten
}

// shorten cuts a file off after so many bytes.
func shorten(ts *script, neg bool, args []string) {
	usageOf(ts, "shorten FILE BYTES", len(args) == 2, neg)
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}
