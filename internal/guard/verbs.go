package guard

import (
	"io"
	"os"
)

// Verbs are what a program of ours does, in place of what it is for, where its first argument is one of them: so it starts itself again as
// a broker or as a client. Each is given the arguments behind, and returns the exit code.
type Verbs map[string]func(args []string, stdin io.Reader, stdout io.Writer) int

// Do carries out the verb that args begin with, Verb itself included; asked is false where they begin with none.
func (v Verbs) Do(args []string) (code int, asked bool) {
	if len(args) == 0 {
		return 0, false
	}
	if args[0] == Verb {
		return Main(os.Stdin), true
	}
	do, asked := v[args[0]]
	if !asked {
		return 0, false
	}
	return do(args[1:], os.Stdin, os.Stdout), true
}
