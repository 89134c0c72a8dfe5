// Package needs decides about tests on machines that lack what they need. A user is told why they are skipped; continuous
// integration, which sets CI=1, has to have it, and fails: a test that nobody runs proves nothing.
package needs

import (
	"fmt"
	"os"
	"testing"
)

// CI tells whether continuous integration runs this test.
func CI() bool { return os.Getenv("CI") != "" }

// Installed ends a test for want of something that can be installed, or that every machine of the kind the test is for has.
func Installed(t testing.TB, why ...any) {
	t.Helper()
	if CI() {
		t.Fatal("missing, and CI is set: ", fmt.Sprint(why...))
	}
	t.Skip(why...)
}

// Root ends a test of what the superuser can do; others may not, also in continuous integration.
func Root(t testing.TB, why ...any) {
	t.Helper()
	if os.Geteuid() == 0 {
		Installed(t, why...)
	}
	t.Skip(why...)
}
