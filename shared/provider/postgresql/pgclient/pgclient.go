// Package pgclient speaks PostgreSQL's protocol for package postgresql. Only programs that read databases link it.
package pgclient

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"orgops/shared/provider/postgresql"
)

const farewell = time.Second // to end a connection

// template makes pgconn take nothing from the environment and from files that would change where a connection goes or what it says. Open
// replaces each value that a server has.
const template = "host=localhost port=5432 database=- user=- password=- sslmode=disable sslcertmode=disable sslnegotiation=postgres " +
	"target_session_attrs=any connect_timeout=5 min_protocol_version=3.0 max_protocol_version=3.0 channel_binding=prefer require_auth=''"

// Open implements postgresql.Open.
func Open(ctx context.Context, s postgresql.Server) (postgresql.Session, error) {
	settings, err := pgconn.ParseConfig(template)
	if err != nil {
		return nil, errors.New("the settings of a connection to PostgreSQL cannot be made; unset PGSERVICE in the environment of the service")
	}
	settings.Host, settings.Port, settings.Database, settings.User, settings.Password = s.Host, s.Port, s.Database, s.User, s.Password
	settings.RuntimeParams = map[string]string{"application_name": "orgops", "client_encoding": "UTF8"}
	settings.MaxProtocolMessageBodyLen = postgresql.MaxMessage
	settings.TLSConfig, settings.RequireAuth = s.TLS, ""
	if s.SCRAM {
		settings.RequireAuth = "scram-sha-256"
	}
	// The name stays a name until the server's Dial connects it, which checks the address.
	settings.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	settings.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
		conn, err := s.Dial(ctx, address)
		return &bounded{conn, postgresql.MaxSession}, err
	}
	conn, err := pgconn.ConnectConfig(ctx, settings)
	if err != nil {
		return nil, told(err)
	}
	opened := session{conn}
	if err := begin(ctx, conn); err != nil {
		opened.Close()
		return nil, told(err)
	}
	return opened, nil
}

// begin begins the transaction. None of its statements gives rows.
func begin(ctx context.Context, conn *pgconn.PgConn) error {
	results := conn.Exec(ctx, postgresql.Begin)
	for results.NextResult() {
		if results.ResultReader().NextRow() {
			return postgresql.ErrUnasked
		}
	}
	return results.Close()
}

// bounded is a connection that fails when a server has sent too much.
type bounded struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, postgresql.ErrTooLarge
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// session is a connection with an open transaction.
type session struct{ conn *pgconn.PgConn }

// Query implements postgresql.Session.
func (s session) Query(ctx context.Context, statement string, arguments [][]byte, columns int, each func(values [][]byte) bool) error {
	result := s.conn.ExecParams(ctx, statement, arguments, nil, nil, nil)
	for result.NextRow() {
		if len(result.Values()) != columns {
			return postgresql.ErrUnasked
		}
		if !each(result.Values()) {
			return nil // the rest of the answer is not read
		}
	}
	_, err := result.Close()
	return told(err)
}

// Close implements postgresql.Session.
func (s session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = s.conn.Close(ctx) // what was read is read
}

// told returns the error that package postgresql knows in place of one of the library.
func told(err error) error {
	var server *pgconn.PgError
	var large *pgproto3.ExceededMaxBodyLenErr
	switch {
	case err == nil:
		return nil
	case errors.As(err, &server):
		return &postgresql.ServerError{Code: server.Code}
	case errors.As(err, &large), errors.Is(err, postgresql.ErrTooLarge):
		return postgresql.ErrTooLarge
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return postgresql.ErrNoTLS
	case strings.Contains(err.Error(), "authentication method requirement"):
		return postgresql.ErrNoSCRAM
	}
	return err
}
