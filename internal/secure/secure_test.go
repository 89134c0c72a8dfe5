package secure

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
)

func TestConfigSaysWhichSettingIsWrong(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, settings := range map[string]plan.TLS{
		"tls.ca_file (--ca-file): open nowhere":                                      {CAFile: "nowhere"},
		"tls.ca_file (--ca-file): " + empty + " holds no certificate":                {CAFile: empty},
		"tls.cert_file, tls.key_file (--cert-file, --key-file): open nowhere":        {CertFile: "nowhere", KeyFile: empty},
		"tls.cert_file, tls.key_file (--cert-file, --key-file): tls: failed to find": {CertFile: empty, KeyFile: empty},
	} {
		if _, err := Config(settings, "broker"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	cfg, err := Config(plan.TLS{}, "broker")
	if err != nil || cfg.ServerName != "broker" || cfg.InsecureSkipVerify {
		t.Errorf("%+v, %v", cfg, err)
	}
	if cfg, _ = Config(plan.TLS{ServerName: "other"}, "broker"); cfg.ServerName != "other" {
		t.Errorf("server name %q", cfg.ServerName)
	}
}

// TestGreeting: what a server says, in pieces, is read until its line ends, and read again by who has the connection then.
func TestGreeting(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		for _, piece := range []string{"INFO {", "}\r", "\n", "later"} {
			_, _ = theirs.Write([]byte(piece))
		}
		_ = theirs.Close()
	}()
	said, err := Greeting(ours)
	if err != nil || string(said) != "INFO {}\r\n" {
		t.Fatalf("said %q, %v", said, err)
	}
	all, err := io.ReadAll(&Greeted{Conn: ours, Said: said})
	if err != nil || string(all) != "INFO {}\r\nlater" {
		t.Errorf("read %q, %v", all, err)
	}
	ours, theirs = net.Pipe()
	_ = theirs.Close()
	if said, err := Greeting(ours); err == nil {
		t.Errorf("a server that hung up said %q", said)
	}
}
