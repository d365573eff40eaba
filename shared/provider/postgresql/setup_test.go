package postgresql_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/postgresql"
	"orgops/shared/provider/postgresql/pgclient"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/postgrestest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

var (
	_ connector.Authenticated = (*postgresql.Connector)(nil)
	_ connector.Lister        = (*postgresql.Connector)(nil)
	_ connector.Checker       = (*postgresql.Connector)(nil)
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

// password is that of the roles that tests make.
const password = "s3cr3t-of-a-reader"

// role makes a role that can log in. grants are statements with %s for its name.
func role(t *testing.T, server *postgrestest.Server, name, grants string) string {
	t.Helper()
	server.Run(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'; ", name, password)+strings.ReplaceAll(grants, "%s", name))
	return name
}

// object is a configuration, or a part of it, as a client sends it.
type object = map[string]any

// configure makes a configuration of streams, read by a role without TLS.
func configure(server *postgrestest.Server, user string, streams ...object) object {
	return object{"host": postgrestest.Host, "port": server.Port, "database": "postgres", "user": user, "sslmode": "disable", "streams": streams}
}

// memories is a stream of memories with the columns id and title.
func memories(name, query string, more ...object) object {
	s := object{"name": name, "query": query, "target": "memory", "idColumn": "id", "titleColumn": "title"}
	for _, m := range more {
		maps.Copy(s, m)
	}
	return s
}

func local() *outbound.Client { return outbound.New(outbound.Options{AllowLoopback: true}) }

// source makes the connector, and a fetch of a configuration that is checked as the service does.
func source(t *testing.T, client *outbound.Client, config object) (*postgresql.Connector, connector.Fetch) {
	t.Helper()
	c := postgresql.New(client, pgclient.Open)
	raw, err := json.Marshal(config)
	errtest.Must(t, err)
	problems, err := web.CheckBody(c.Schema(), raw)
	errtest.Must(t, err)
	errtest.Must(t, fault.Refuse(append(problems, c.CheckConfig(raw)...)))
	return c, connector.Fetch{Config: raw, Credentials: map[string]string{"password": password}, Full: true}
}

// first fetches the first page.
func first(t *testing.T, config object) (connector.FetchedPage, error) {
	t.Helper()
	c, f := source(t, local(), config)
	return connector.FetchPage(t.Context(), c, f)
}

// all fetches every page of a run.
func all(t *testing.T, c *postgresql.Connector, f connector.Fetch) (pages []connector.FetchedPage) {
	t.Helper()
	for {
		page, err := connector.FetchPage(t.Context(), c, f)
		errtest.Must(t, err)
		pages = append(pages, page)
		if f.Checkpoint = page.Checkpoint; f.Checkpoint == nil {
			return pages
		}
	}
}

// run fetches every page of a configuration.
func run(t *testing.T, config object) []connector.FetchedPage {
	t.Helper()
	c, f := source(t, local(), config)
	return all(t, c, f)
}
