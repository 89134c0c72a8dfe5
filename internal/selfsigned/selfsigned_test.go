package selfsigned

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"
)

// TestNew: who trusts the file alone accepts the certificate for each of its hosts, for as long as it is valid, and for no other host; the
// files are a pair.
func TestNew(t *testing.T) {
	c, err := New(24*time.Hour, "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(c.PEM, c.KeyPEM); err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode(c.PEM)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.PEM) {
		t.Fatal("no certificate in the file")
	}
	for _, host := range []string{"127.0.0.1", "localhost", "example.org"} {
		for after, valid := range map[time.Duration]bool{0: true, 23 * time.Hour: true, 25 * time.Hour: false} {
			_, err := parsed.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: time.Now().Add(after)})
			if want := valid && host != "example.org"; (err == nil) != want {
				t.Errorf("%s after %v: %v, want it valid: %v", host, after, err, want)
			}
		}
	}
}
