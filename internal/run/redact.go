package run

import "regexp"

// userInfo is the part of a URL between the scheme and the last @ of the authority.
var userInfo = regexp.MustCompile(`://[^\s/"]*@`)

// redact removes the user part of every URL in b.
func redact(b []byte) []byte { return userInfo.ReplaceAll(b, []byte("://")) }
