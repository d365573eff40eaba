package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// authorities returns the certificate authorities of the system and those of a PEM file.
func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", file)
	case err != nil:
		return nil, fmt.Errorf("the file %s cannot be read; check its rights, and that it is not a folder", file)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the file %s has no certificate; it needs those of the authorities, each between BEGIN CERTIFICATE and END CERTIFICATE (PEM)", file)
	}
	return pool, nil
}
