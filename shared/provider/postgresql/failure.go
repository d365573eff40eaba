package postgresql

import (
	"context"
	"errors"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// meaning says what an error of the server means. The server's own words may show data, so no part of them is shown.
type meaning struct {
	codes []string // SQLSTATE, or the first characters of it
	says  string
	lasts bool // a retry cannot help
}

// meanings lists the errors in order. The first that fits counts.
func meanings() []meaning {
	return []meaning{
		{[]string{"28"}, "the database refuses the role or its password; check both, and that the server lets the role connect from outside", true},
		{[]string{"3D000"}, "there is no such database; check its name", true},
		{[]string{"42501"}, "the role may not read what the query names; grant it SELECT on the tables and USAGE on their schema", true},
		{[]string{"42P01", "3F000"}, "the query names a table that does not exist, or that the role cannot see", true},
		{[]string{"42703"}, "a column does not exist; check the query, and that each configured column is one of its result, spelled as the server shows it", true},
		{[]string{"42702"}, "a name stands for several columns; give each column of the query a name of its own", true},
		{[]string{"42883"}, "a function or an operator does not exist for its types; the values of idColumn need an order", true},
		{[]string{"25006"}, "the query changes something, and only reading is allowed", true},
		{[]string{"42", "0A"}, "the server does not accept the query; try it in psql, inside SELECT * FROM (…) AS q", true},
		{[]string{"21", "22"}, "a value of a row cannot be computed; check the conversions and the subqueries of the query", false},
		{[]string{"57014"}, "the query takes longer than 10 seconds; add an index, or ask for less", false},
		{[]string{"55P03", "40"}, "the rows are locked or change while they are read; the sync is tried again", false},
		{[]string{"53", "57P"}, "the server takes no connection at the moment; the sync is tried again", false},
		{[]string{"08"}, "the server does not understand the request; check that host and port are those of PostgreSQL, and that no query has a parameter such as $1", true},
	}
}

// state matches what SQLSTATE can be.
const state text.Pattern = `^[0-9A-Z]{5}$`

// explain returns the error that the service shows and acts on. name is the stream's, or "" before its query runs.
func explain(ctx context.Context, name string, err error) error {
	var server *ServerError
	switch {
	case ctx.Err() != nil:
		return fault.Wrap(fault.Unavailable, "the database cannot be read: "+outbound.Explain(ctx.Err()), ctx.Err())
	case errors.As(err, &server):
		return explained(name, server.Code)
	case fault.KindOf(err) == fault.Forbidden:
		return err // a policy refuses the host
	case errors.Is(err, ErrNoTLS), errors.Is(err, ErrNoSCRAM):
		return fault.Wrap(fault.Unavailable, err.Error(), connector.ErrRefused)
	}
	said := outbound.Cause(err)
	switch {
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrUnasked):
		said = err.Error()
	case said == "":
		said = "the connection failed; check that host and port are those of a PostgreSQL server"
	}
	return fault.New(fault.Unavailable, "the database cannot be read: "+said)
}

// explained returns the error for a SQLSTATE.
func explained(name, code string) error {
	if !state.Matches(code) {
		code = "unknown"
	}
	where := "the database cannot be read"
	if name != "" {
		where = "the stream " + name + " cannot be read"
	}
	for _, m := range meanings() {
		for _, prefix := range m.codes {
			if !strings.HasPrefix(code, prefix) {
				continue
			}
			said := where + ": " + m.says + " (SQLSTATE " + code + ")"
			if m.lasts {
				return fault.Wrap(fault.Unavailable, said, connector.ErrRefused)
			}
			return fault.New(fault.Unavailable, said)
		}
	}
	return fault.New(fault.Unavailable, where+": the server reports an error (SQLSTATE "+code+"); its log says more")
}
