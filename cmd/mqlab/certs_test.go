package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs certificates.
type authority struct {
	ts   *script
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// writeCertificates writes into the current folder: ca.pem, and as NAME.pem with NAME.key: server (for 127.0.0.1 and localhost),
// elsewhere (for another host), expired, and client, all signed by ca; otherca.pem signed none of them.
func writeCertificates(ts *script, neg bool, args []string) {
	usageOf(ts, "certs", len(args) == 0, neg)
	ca := newAuthority(ts, "ca.pem")
	newAuthority(ts, "otherca.pem")
	now := time.Now()
	here := []net.IP{net.IPv4(127, 0, 0, 1)}
	ca.issue("server", x509.Certificate{IPAddresses: here, DNSNames: []string{"localhost"}, NotAfter: now.Add(time.Hour)})
	ca.issue("elsewhere", x509.Certificate{DNSNames: []string{"broker.example.org"}, NotAfter: now.Add(time.Hour)})
	ca.issue("expired", x509.Certificate{IPAddresses: here, NotAfter: now.Add(-time.Hour)})
	ca.issue("client", x509.Certificate{Subject: pkix.Name{CommonName: "client"}, NotAfter: now.Add(time.Hour)})
}

func newAuthority(ts *script, file string) *authority {
	a := &authority{ts: ts}
	a.key = a.newKey()
	a.cert = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: file}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, &a.key.PublicKey, file)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.ts.Check(err)
	return key
}

// issue writes a certificate of t and its key.
func (a *authority) issue(name string, t x509.Certificate) {
	key := a.newKey()
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	a.sign(&t, a.cert, &key.PublicKey, name+".pem")
	der, err := x509.MarshalPKCS8PrivateKey(key)
	a.ts.Check(err)
	a.write(name+".key", "PRIVATE KEY", der)
}

// sign writes a certificate; parent nil signs itself.
func (a *authority) sign(t, parent *x509.Certificate, key *ecdsa.PublicKey, file string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	a.ts.Check(err)
	t.SerialNumber, t.NotBefore = serial, time.Now().Add(-48*time.Hour)
	if parent == nil {
		parent = t
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key, a.key)
	a.ts.Check(err)
	a.write(file, "CERTIFICATE", der)
	cert, err := x509.ParseCertificate(der)
	a.ts.Check(err)
	return cert
}

func (a *authority) write(file, kind string, der []byte) {
	a.ts.Check(os.WriteFile(a.ts.MkAbs(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
