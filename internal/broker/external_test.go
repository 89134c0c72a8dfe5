package broker

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
)

func external(url string) plan.Subject {
	return plan.Subject{Name: url, Broker: "external", Runtime: External, URL: url}
}

func TestExternalURLs(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"mqtt://broker.example", "mqtt://broker.example:1883"},
		{"mqtts://broker.example/", "mqtts://broker.example:8883"},
		{"nats://10.0.0.1:99", "nats://10.0.0.1:99"},
		{"tls://[::1]", "tls://[::1]:4222"},
		{"amqp://broker.example", "amqp://broker.example:5672"},
		{"rediss://broker.example", "rediss://broker.example:6379"},
		{"kafka://broker.example", `the broker's URL starts with "kafka:": known are mqtt, mqtts, `},
		{"broker.example:1883", "the broker's URL starts with"},
		{"", `the broker's URL starts with ":"`},
		{"mqtt://", "the broker's URL names no host"},
		{"mqtt://:1883", "the broker's URL names no host"},
		{"mqtt://me:hush@broker.example", "the broker's URL holds credentials"},
		{"mqtt://me:hush@broker.example:port", "the broker's URL cannot be read"},
		{"mqtt://broker.example/topic", "the broker's URL has more than"},
	} {
		i, err := Start(t.Context(), external(c.url), Options{})
		got := fmt.Sprint(err)
		if err == nil {
			got = i.URL
		}
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "hush") {
			t.Errorf("%s\n got %s\nwant %s", c.url, got, c.want)
		}
	}
}

func TestExternalBrokerIsNotOurs(t *testing.T) {
	i, err := Start(t.Context(), external("mqtt://127.0.0.1:1"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if i.Pause() == nil || i.Resume() == nil {
		t.Error("paused a broker that is not ours")
	}
	if i.StderrTail() != "" || len(i.PIDs) != 0 {
		t.Errorf("%q %v", i.StderrTail(), i.PIDs)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-i.Exited():
		t.Errorf("exited: %v", err)
	default:
	}
}

func TestFindExternal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if f := Find(t.Context(), external("mqtt://"+at)); !f.OK || f.Why != "takes connections at "+at {
		t.Errorf("%+v", f)
	}
	_ = l.Close()
	for url, want := range map[string]string{
		"mqtt://" + at:                at + " refused the connection",
		"mqtt://no-such-host.invalid": "host no-such-host.invalid",
		"kafka://" + at:               "the broker's URL starts with",
	} {
		if f := Find(t.Context(), external(url)); f.OK || !strings.Contains(f.Why, want) {
			t.Errorf("%s: %+v, want %s", url, f, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("LAB_USER", "me")
	t.Setenv("LAB_PASSWORD", "hush")
	t.Setenv("LAB_TOKEN", "tok")
	for _, c := range []struct {
		auth plan.Auth
		want Login
		err  string
	}{
		{plan.Auth{}, Login{}, ""},
		{plan.Auth{UserEnv: "LAB_USER", PasswordEnv: "LAB_PASSWORD"}, Login{User: "me", Password: "hush"}, ""},
		{plan.Auth{TokenEnv: "LAB_TOKEN"}, Login{Token: "tok"}, ""},
		{plan.Auth{PasswordFile: file("both", "you:a:b\r\nmore")}, Login{User: "you", Password: "a:b"}, ""},
		{plan.Auth{PasswordFile: file("token", "secret\n")}, Login{Token: "secret"}, ""},
		{plan.Auth{PasswordFile: file("empty", "\nuser:hush")}, Login{}, "credentials: the first line of " + dir + "/empty is empty"},
		{plan.Auth{PasswordFile: dir + "/none"}, Login{}, "credentials: open " + dir + "/none: no such file"},
		{plan.Auth{UserEnv: "LAB_NOBODY"}, Login{}, "credentials: the environment variable LAB_NOBODY is not set"},
	} {
		got, err := Credentials(c.auth)
		if got.User != c.want.User || got.Password != c.want.Password || got.Token != c.want.Token || !strings.HasPrefix(fmt.Sprint(err), c.err) || (c.err == "") != (err == nil) {
			t.Errorf("%+v: got other credentials, or %v", c.auth, err)
		}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if s := fmt.Sprintf(format, got); strings.Contains(s, "hush") || strings.Contains(s, "tok") || strings.Contains(s, "secret") {
				t.Errorf("%s shows %s", format, s)
			}
		}
	}
}

func TestTail(t *testing.T) {
	var also strings.Builder
	tl := &tail{also: &also}
	if tl.lastLine() != "" {
		t.Error("a last line of nothing")
	}
	for n := range 20000 {
		_, _ = fmt.Fprintf(tl, "line %d\n", n)
	}
	if got := tl.String(); len(got) > tailBytes || !strings.HasSuffix(got, "line 19999\n") || len(tl.buf) > 2*tailBytes {
		t.Errorf("kept %d bytes", len(got))
	}
	if tl.lastLine() != "line 19999" || strings.Count(also.String(), "\n") != 20000 {
		t.Errorf("last line %q", tl.lastLine())
	}
	_, _ = fmt.Fprintf(tl, "%s\n \n", strings.Repeat("é", 1000))
	if got := []rune(tl.lastLine()); len(got) != lastLineRunes+1 {
		t.Errorf("%d runes", len(got))
	}
}
