package broker

import (
	"fmt"
	"os"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
)

// Login are the credentials of a client. They do not show when printed.
type Login struct {
	User     string `json:"-"`
	Password string `json:"-"`
	Token    string `json:"-"`
}

// String hides the credentials.
func (Login) String() string { return "(not shown)" }

// GoString hides the credentials.
func (Login) GoString() string { return "(not shown)" }

// Credentials reads the credentials that a names, from the environment and the file. A variable that is not set is an
// error; errors never show a value.
func Credentials(a plan.Auth) (Login, error) {
	var l Login
	if a.PasswordFile != "" {
		b, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return Login{}, fmt.Errorf("credentials: %w", err)
		}
		first, _, _ := strings.Cut(string(b), "\n")
		first = strings.TrimSuffix(first, "\r")
		if first == "" {
			return Login{}, fmt.Errorf("credentials: the first line of %s is empty", a.PasswordFile)
		}
		user, password, both := strings.Cut(first, ":")
		if both {
			l.User, l.Password = user, password
		} else {
			l.Token = first
		}
	}
	for _, v := range []struct {
		name string
		into *string
	}{{a.UserEnv, &l.User}, {a.PasswordEnv, &l.Password}, {a.TokenEnv, &l.Token}} {
		if v.name == "" {
			continue
		}
		value, ok := os.LookupEnv(v.name)
		if !ok {
			return Login{}, fmt.Errorf("credentials: the environment variable %s is not set", v.name)
		}
		*v.into = value
	}
	return l, nil
}
