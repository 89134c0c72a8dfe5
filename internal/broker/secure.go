package broker

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/selfsigned"
)

// SecureName is the name in the certificates of brokers that we start.
const SecureName = "localhost"

// The files of a broker's certificate, which signs itself, and of its key.
const (
	certBase = "cert.pem"
	keyBase  = "key.pem"
)

// patience is how long clients may take for a handshake with a broker of ours, in milliseconds: over a slow link that loses packets they
// take longer than most brokers grant by default, and all would be reconnecting in place of what is to be measured.
const patience = "60000"

// keepsFor is how long such a certificate is valid: longer than any trial.
const keepsFor = 366 * 24 * time.Hour

// certificate writes a certificate and its key into the broker's folder.
func (s *site) certificate() (certFile, keyFile string, err error) {
	c, err := selfsigned.New(keepsFor, SecureName)
	if err != nil {
		return "", "", err
	}
	if certFile, err = s.file(certBase, string(c.PEM)); err != nil {
		return "", "", err
	}
	keyFile, err = s.file(keyBase, string(c.KeyPEM))
	return certFile, keyFile, err
}

// scheme is how URLs of a protocol start at this broker.
func (s *site) scheme(protocol string) string {
	if s.tls {
		return plan.SecureSchemeOf(protocol)
	}
	return plan.SchemeOf(protocol)
}

// CAFile holds the certificate to trust, of a broker that was started with TLS; "" = it was not.
func (i *Instance) CAFile() string {
	if i.site == nil || !i.site.tls {
		return ""
	}
	return filepath.Join(i.dir, certBase)
}

// encrypt does the handshake with a broker of ours that is to say whether it is ready: whose certificate it shows does not matter.
func encrypt(ctx context.Context, conn net.Conn) (net.Conn, error) {
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nothing is entrusted to it
	return secure, secure.HandshakeContext(ctx)
}

// storePassword is that of key stores, which are made for a trial in a folder that nobody else can read.
const storePassword = "mqlab-trial"

// keyStore makes a key (ECDSA P-256) and its certificate as programs in Java want them, by their own tool, and the certificate alone for
// clients; "" = the broker is not to have TLS.
func (s *site) keyStore() (file string, err error) {
	if !s.tls {
		return "", nil
	}
	path, err := java()
	if err != nil {
		return "", err
	}
	file = filepath.Join(s.dir, "key.p12")
	tool := filepath.Join(filepath.Dir(path), "keytool")
	common := []string{"-alias", SecureName, "-storetype", "PKCS12", "-keystore", file, "-storepass", storePassword}
	pair := append([]string{
		"-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + SecureName, "-ext", "SAN=dns:" + SecureName, "-ext", "bc:critical=ca:true",
		"-validity", strconv.Itoa(int(keepsFor / (24 * time.Hour))),
	}, common...)
	show := append([]string{"-exportcert", "-rfc", "-file", filepath.Join(s.dir, certBase)}, common...)
	for _, args := range [][]string{pair, show} {
		if _, err := s.output(s.ctx, nil, tool, args...); err != nil {
			return "", fmt.Errorf("TLS key: %w", err)
		}
	}
	return file, nil
}
