package jitter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
)

// server is where a broker listens.
type server struct {
	host string
	port uint16
	tls  *tls.Config // nil = without TLS
}

func (s *server) address() string { return net.JoinHostPort(s.host, strconv.Itoa(int(s.port))) }

// CheckURL finds what is wrong with a broker's URL, or with the file of its certificate authority.
func CheckURL(broker, ca string) error {
	_, err := dialing(broker, ca)
	return err
}

// dialing reads the URL of a broker; ca is the file of the authority that signed its certificate, of mqtts only.
func dialing(broker, ca string) (*server, error) {
	u, err := url.Parse(broker)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the broker's URL is none: write mqtt://host:port or mqtts://host:port")
	}
	s := &server{host: u.Hostname()}
	port := u.Port()
	switch u.Scheme {
	case "mqtt":
		if port == "" {
			port = "1883"
		}
	case "mqtts":
		if port == "" {
			port = "8883"
		}
		if ca == "" {
			return nil, errors.New("a broker with TLS needs the file of its certificate authority")
		}
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("the certificate authority's file: %w", err)
		}
		s.tls = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: s.host, MinVersion: tls.VersionTLS12}
		if !s.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", ca)
		}
	default:
		return nil, fmt.Errorf("clients of this measurement speak MQTT over TCP: write mqtt:// or mqtts://, not %s://", u.Scheme)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%q is no port", port)
	}
	s.port = uint16(n)
	return s, nil
}
