package postgresql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/postgresql"
	"orgops/shared/provider/postgresql/pgclient"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/postgrestest"
	"orgops/shared/webhook/outbound"
)

// TestConnector_Fetch_failures says what is wrong by the class of the server's error. No text quotes the server, the data or the password.
func TestConnector_Fetch_failures(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "failing", `CREATE TABLE secrets (id int, title text); INSERT INTO secrets VALUES (1, 'row-data');
		CREATE TABLE shown (id int, title text); INSERT INTO shown VALUES (1, 'row-data'); GRANT SELECT ON shown TO %s;
		CREATE FUNCTION writing() RETURNS int LANGUAGE sql VOLATILE SECURITY DEFINER AS 'INSERT INTO shown VALUES (2) RETURNING id'`)
	of := func(query string, more ...object) object {
		return configure(server, reader, memories("s", query, more...))
	}
	with := func(config object, field string, value any) object { config[field] = value; return config }
	const fine = "SELECT id, title FROM shown"
	tests := []struct {
		name   string
		config object
		says   string
		lasts  bool
	}{
		{"another role", with(of(fine), "user", "nobody"), "refuses the role or its password", true},
		{"another database", with(of(fine), "database", "other"), "no such database", true},
		{"no right", of("SELECT * FROM secrets"), "the stream s cannot be read: the role may not read", true},
		{"no table", of("SELECT * FROM absent"), "names a table that does not exist", true},
		{"no column", of(fine, object{"titleColumn": "absent"}), "a column does not exist", true},
		{"a column twice", of("SELECT id, id, title FROM shown"), "a name stands for several columns", true},
		{"no order", of("SELECT '{}'::json AS id, title FROM shown"), "the values of idColumn need an order", true},
		{"no query", of("SELEC"), "the server does not accept the query", true},
		{"a parameter", of("SELECT id, title FROM shown WHERE id = $1"), "no query has a parameter such as $1 (SQLSTATE 08P01)", true},
		{"a change", of("SELECT writing() AS id, 'x' AS title"), "only reading is allowed (SQLSTATE 25006)", true},
		{"a value", of("SELECT title::int AS id, title FROM shown"), "a value of a row cannot be computed; check the conversions and the subqueries of the query (SQLSTATE 22P02)", false},
		{"an error of the query's own", of("SELECT 1 AS id, (SELECT title FROM shown, generate_series(1, 2)) AS title"), "a value of a row", false},
		{"no server", with(of(fine), "port", 1), "connection refused", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := first(t, tt.config)
			said := errtest.Message(err)
			if !strings.Contains(said, tt.says) {
				t.Errorf("error %q, want %q in it", said, tt.says)
			}
			if got := errors.Is(err, connector.ErrRefused); got != tt.lasts {
				t.Errorf("ends the run = %t, want %t", got, tt.lasts)
			}
			if fault.KindOf(err) != fault.Unavailable {
				t.Errorf("kind %v, want a public error", fault.KindOf(err))
			}
			for _, hidden := range []string{"row-data", password, "relation", "127.0.0.1"} {
				if strings.Contains(said, hidden) {
					t.Errorf("error %q has %q in it, want it left out", said, hidden)
				}
			}
		})
	}
}

// detail returns the text of an error that the service shows.
func detail(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Detail
	}
	return errtest.Message(err)
}

// TestConnector_Fetch_ended reads a query that the server ends, as it does after 10 seconds.
func TestConnector_Fetch_ended(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "slow", "")
	go until(t, server.Connect(t, postgrestest.User, postgrestest.Password), "SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity WHERE usename = 'slow' AND wait_event = 'PgSleep'")
	_, err := first(t, configure(server, reader, memories("s", "SELECT 1 AS id, current_setting('statement_timeout') AS title FROM pg_sleep(60)")))
	if got, want := detail(err), "the stream s cannot be read: the query takes longer than 10 seconds; add an index, or ask for less (SQLSTATE 57014)"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	page, err := first(t, configure(server, reader, memories("s", "SELECT 1 AS id, concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('transaction_read_only'), current_setting('application_name')) AS title")))
	errtest.Must(t, err)
	if got, want := page.Memories[0].Title, "10s 2s on orgops"; got != want {
		t.Errorf("settings %q, want %q", got, want)
	}
}

// TestConnector_Fetch_egress reaches no address that the client's rules, the origin or the policies refuse.
func TestConnector_Fetch_egress(t *testing.T) {
	t.Parallel()
	dialed, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	defer dialed.Close()
	go func() {
		if conn, err := dialed.Accept(); err == nil {
			conn.Close()
			t.Error("a connection was made, want none")
		}
	}()
	port := dialed.Addr().(*net.TCPAddr).Port
	refused := fault.New(fault.Forbidden, "the policies refuse it")
	tests := []struct {
		name, host string
		client     *outbound.Client
		ctx        context.Context
		want       string
	}{
		{"an address", "127.0.0.1", outbound.New(outbound.Options{}), t.Context(), "the host's address is not public"},
		{"a name", "localhost", outbound.New(outbound.Options{}), t.Context(), "the host's address is not public"},
		{"another origin", "127.0.0.1", local(), outbound.WithOrigin(t.Context(), "postgresql://db.example.com:5432"), "must not go there"},
		{"a policy", "127.0.0.1", local(), outbound.WithPermit(t.Context(), func(_ context.Context, host string) error {
			if host != "127.0.0.1" {
				t.Errorf("asked about %q, want the host", host)
			}
			return refused
		}), "the policies refuse it"},
	}
	for _, tt := range tests {
		config := object{"host": tt.host, "port": port, "database": "d", "user": "u", "streams": []object{memories("s", "SELECT 1")}}
		_, f := source(t, local(), config)
		_, err := postgresql.New(tt.client, pgclient.Open).Fetch(tt.ctx, f)
		if got := errtest.Message(err); !strings.Contains(got, tt.want) {
			t.Errorf("%s: error %q, want %q in it", tt.name, got, tt.want)
		}
	}
}

// TestConnector_Fetch_strangers ends with a server that does not speak the protocol, or that answers without bounds.
func TestConnector_Fetch_strangers(t *testing.T) {
	t.Parallel()
	const tooLong = "the database cannot be read: a message of the server is larger than 4 MiB; check that host and port are those of a PostgreSQL server"
	const unasked = "the database cannot be read: the server sends what was not asked for; check that host and port are those of a PostgreSQL server"
	const login, noColumns, noValues = "R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I", "T\x00\x00\x00\x06\x00\x00", "D\x00\x00\x00\x06\x00\x00"
	for name, tt := range map[string]struct{ answer, mode, want string }{
		"no TLS":          {"N", "verify-full", "the server offers no TLS; turn it on in the server's settings"},
		"not TLS":         {"S" + strings.Repeat("x", 100), "verify-full", "the database cannot be read: the connection failed; check that host and port are those of a PostgreSQL server"},
		"HTTP":            {"HTTP/1.1 400 Bad Request\r\n\r\n", "disable", tooLong},
		"a large message": {"R\x40\x00\x00\x00", "disable", tooLong},
		"rows for none":   {login + noColumns + noValues, "disable", unasked},
		"no values":       {login + "C\x00\x00\x00\x0aBEGIN\x00Z\x00\x00\x00\x05T1\x00\x00\x00\x042\x00\x00\x00\x04" + noColumns + noValues, "disable", unasked},
		"settings":        {"R\x00\x00\x00\x08\x00\x00\x00\x00" + strings.Repeat("S\x00\x01\x00\x04"+strings.Repeat("x", 1<<16-2)+"\x00\x00", 300), "disable", tooLong},
		"silence":         {"", "disable", "the database cannot be read: the connection was closed before the answer ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			errtest.Must(t, err)
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1024))
				if n, _ := io.WriteString(conn, tt.answer); n > 0 {
					_, _ = io.Copy(io.Discard, conn) // a close with unread bytes would be a reset
				}
			}()
			_, err = first(t, object{
				"host": "127.0.0.1", "port": listener.Addr().(*net.TCPAddr).Port, "database": "d", "user": "u", "sslmode": tt.mode, "streams": []object{memories("s", "SELECT 1")},
			})
			if got := detail(err); got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}

// endless is a session whose rows repeat.
type endless struct {
	asked *int
	rows  int
}

func (e endless) Query(_ context.Context, _ string, _ [][]byte, columns int, each func([][]byte) bool) error {
	if columns == 1 { // the question about the role
		each([][]byte{[]byte("f")})
		return nil
	}
	*e.asked++
	row := make([][]byte, 10)
	row[2] = []byte("x")
	for n := range e.rows {
		row[0] = fmt.Append(nil, n)
		row[1] = row[0]
		if !each(row) {
			break
		}
	}
	return nil
}

func (endless) Close() {}

// TestConnector_Fetch_rows refuses more rows than were asked for, and an id that is too long for the next page.
func TestConnector_Fetch_rows(t *testing.T) {
	t.Parallel()
	asked := 0
	c := postgresql.New(local(), func(context.Context, postgresql.Server) (postgresql.Session, error) { return endless{&asked, 1e9}, nil })
	_, f := source(t, local(), object{"host": "db.example.com", "database": "d", "user": "u", "streams": []object{memories("s", "SELECT 1")}})
	_, err := c.Fetch(t.Context(), f)
	if got := errtest.Message(err); !strings.Contains(got, "what was not asked for") {
		t.Errorf("error %q, want one of the rows", got)
	}
	server := postgrestest.Start(t)
	_, err = first(t, configure(server, role(t, server, "long", ""), memories("s", "SELECT repeat('x', 3000) || n AS id, 'x' AS title FROM generate_series(1, 600) AS n")))
	if got := errtest.Message(err); !strings.Contains(got, "an id of the stream s is longer than 2048 bytes") {
		t.Errorf("error %q, want one of the id", got)
	}
}

// TestConnector_Fetch_endless ends a run whose pages repeat.
func TestConnector_Fetch_endless(t *testing.T) {
	t.Parallel()
	asked := 0
	c := postgresql.New(local(), func(context.Context, postgresql.Server) (postgresql.Session, error) { return endless{&asked, 501}, nil })
	_, f := source(t, local(), object{"host": "db.example.com", "database": "d", "user": "u", "streams": []object{memories("s", "SELECT 1")}})
	for {
		page, err := c.Fetch(t.Context(), f)
		if errors.Is(err, connector.ErrEndless) {
			break
		}
		errtest.Must(t, err)
		if f.Checkpoint = page.Checkpoint; f.Checkpoint == nil {
			t.Fatal("the run ended, want an error")
		}
	}
	if asked > 4 {
		t.Errorf("%d queries, want at most 4", asked)
	}
}
