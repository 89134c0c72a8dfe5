// Package agents holds the sources of the agents: small programs around client libraries of several languages, which mqlab builds on
// first use. README.md says how they speak with mqlab.
package agents

import "embed"

// Files are the sources, by language.
//
//go:embed c cpp python node golang/libraries.go
var Files embed.FS
