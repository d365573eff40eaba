package postgresql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// Open opens a session, and begins a transaction by Begin. Package pgclient implements it.
type Open func(ctx context.Context, s Server) (Session, error)

// Server says where a session goes, and how.
type Server struct {
	Host                     string
	Port                     uint16
	Database, User, Password string
	TLS                      *tls.Config // nil: a connection without TLS
	SCRAM                    bool        // take no other authentication
	Dial                     func(ctx context.Context, address string) (net.Conn, error)
}

// Session is a connection with an open transaction. Only one goroutine may use it.
type Session interface {
	// Query runs one statement, whose rows have a number of columns. It returns ErrUnasked for any other row. It gives the values of each row, as texts, to each until that returns false; then the session can only be
	// closed. A null is nil. The values are valid until each returns.
	Query(ctx context.Context, statement string, arguments [][]byte, columns int, each func(values [][]byte) (more bool)) error
	// Close ends the connection, and with it the transaction.
	Close()
}

// Limits of what a session reads from a server, which may not be one of PostgreSQL: of a message, such as a row, and of all, in bytes.
const (
	MaxMessage = 4 << 20
	MaxSession = 16 << 20
)

// Begin starts a transaction that only reads. Its settings end with it, so that they do not stay on a connection that a pooler shares.
// Numbers of floating point have all their digits, and times are in UTC.
const Begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '20s';
SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'iso_8601'; SET LOCAL bytea_output = 'hex';
SET LOCAL extra_float_digits = 3`

// Errors of a session. Any other error is one of the connection.
var (
	ErrTooLarge = errors.New("a message of the server is larger than 4 MiB; check that host and port are those of a PostgreSQL server")
	ErrUnasked  = errors.New("the server sends what was not asked for; check that host and port are those of a PostgreSQL server")
	ErrNoTLS    = errors.New("the server offers no TLS; turn it on in the server's settings")
	ErrNoSCRAM  = errors.New("the server does not ask for SCRAM authentication; set password_encryption to scram-sha-256 and the password again, or choose the sslmode verify-full")
)

// ServerError reports an error of the server by its SQLSTATE. It has none of the server's words, which may show data.
type ServerError struct{ Code string }

func (e *ServerError) Error() string { return "the server reports an error" }

// server returns what a configuration and a password say of the server.
func (c *Connector) server(config Config, password string) Server {
	s := Server{
		Host: config.Host, Port: uint16(config.Port), Database: config.Database, User: config.User, Password: password,
		Dial: func(ctx context.Context, address string) (net.Conn, error) { return c.client.Dial(ctx, Kind, address) },
	}
	if config.SSLMode == disable {
		return s
	}
	s.TLS = c.client.TLS(config.Host, config.roots())
	if config.SSLMode == require {
		s.SCRAM = true                  // the server proves that it knows the password, which is not sent
		s.TLS.InsecureSkipVerify = true // with an authority, the chain is verified below
		if roots := config.roots(); roots != nil {
			s.TLS.VerifyConnection = func(state tls.ConnectionState) error { return verify(state, roots) }
		}
	}
	return s
}

// verify checks that a server's certificate comes from one of the authorities. Its name does not count.
func verify(state tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}
