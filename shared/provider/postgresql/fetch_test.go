package postgresql_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/postgrestest"
)

// TestConnector_Fetch reads values of each type in their exact form.
func TestConnector_Fetch(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "types", `CREATE TABLE typed (id numeric PRIMARY KEY, "The ""title""" text, body json, amount numeric, tags text[], raw bytea, at timestamptz, naive timestamp, f float8);
		INSERT INTO typed VALUES
		(12345678901234567890.123456789, 'Größe', '{"b":1,  "a":2}', 0.10, '{x,"y z"}', '\x00ff', '2026-03-01 12:00:00.123456+02', '2026-03-01 12:00:00', 0.1),
		(2, NULL, NULL, 'NaN', NULL, NULL, 'infinity', NULL, NULL);
		GRANT SELECT ON typed TO %s`)
	const query = `SELECT *, amount * 0 + 41200.50 AS current, 50000 AS wanted, current_date AS due FROM typed`
	title := object{"titleColumn": `The "title"`}
	one := func(name, column string) object {
		return memories(name, query+" WHERE id > 2 -- the first row\n", title, object{"bodyColumn": column})
	}
	c, f := source(t, local(), configure(server, reader,
		memories("rows", query, title, object{"bodyColumn": "body", "updatedAtColumn": "at"}),
		one("amount", "amount"), one("tags", "tags"), one("raw", "raw"), one("at", "at"), one("naive", "naive"), one("f", "f"),
		object{
			"name": "goals", "query": query + " WHERE id > 2", "target": "goal", "idColumn": "id", "titleColumn": "amount", "currentColumn": "current", "targetColumn": "wanted",
			"unit": "EUR", "direction": "down", "dueAtColumn": "naive",
		},
		object{"name": "done", "query": query + " WHERE id > 2", "target": "goal", "idColumn": "id", "titleColumn": "amount", "progressColumn": "f"},
	))
	bodies, page := map[string]string{}, connector.FetchedPage{}
	for _, p := range all(t, c, f) {
		for _, m := range p.Memories {
			bodies[m.ExternalID] = m.Body
		}
		page.Memories, page.Goals, page.Warnings = append(page.Memories, p.Memories...), append(page.Goals, p.Goals...), append(page.Warnings, p.Warnings...)
	}
	const big = "12345678901234567890.123456789"
	if diff := cmp.Diff(map[string]string{
		"rows/2": "", "rows/" + big: `{"b":1,  "a":2}`, "amount/" + big: "0.10", "tags/" + big: `["x","y z"]`, "raw/" + big: `\x00ff`,
		"at/" + big: "2026-03-01T10:00:00.123456+00:00", "naive/" + big: "2026-03-01T12:00:00", "f/" + big: "0.1",
	}, bodies); diff != "" {
		t.Errorf("texts differ (-want +got):\n%s", diff)
	}
	changed, due := time.Date(2026, 3, 1, 10, 0, 0, 123456000, time.UTC), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if diff := cmp.Diff([]memory.Draft{
		{ExternalID: "rows/2", Kind: "row", Title: "rows/2"},
		{ExternalID: "rows/" + big, Kind: "row", Title: "Größe", Body: `{"b":1,  "a":2}`, UpdatedAt: &changed},
	}, page.Memories[:2]); diff != "" {
		t.Errorf("memories differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]goal.Draft{
		{ExternalID: "goals/" + big, Title: "0.10", State: goal.Open, DueAt: &due, Measure: &goal.Measure{Current: "41200.50", Target: "50000", Unit: "EUR", Direction: goal.Down}},
		{ExternalID: "done/" + big, Title: "0.10", State: goal.Open, Progress: 0.1},
	}, page.Goals); diff != "" {
		t.Errorf("goals differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`updatedAtColumn of "rows/2" is "infinity", which is no time that can be read, so it is left out; send RFC 3339, such as 2026-03-01T12:00:00Z`}, page.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

// TestConnector_Fetch_pages reads each row once, in pages that end at 500 rows or at 4 MiB.
func TestConnector_Fetch_pages(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "pages", "")
	tests := []struct {
		name, query string
		pages       []int
	}{
		{"three pages", "SELECT n AS id, 'x' AS title FROM generate_series(1, 1003) n", []int{500, 500, 3}},
		{"a full page", "SELECT n AS id, 'x' AS title FROM generate_series(1, 500) n", []int{500}},
		{"none", "SELECT n AS id, 'x' AS title FROM generate_series(1, 0) n", []int{0}},
		{"texts", "SELECT 'k' || n AS id, 'x' AS title FROM generate_series(1, 501) n", []int{500, 1}},
		{"unique ids", "SELECT md5(n::text)::uuid AS id, 'x' AS title FROM generate_series(1, 501) n", []int{500, 1}},
		{"times", "SELECT timestamptz '2026-01-01' + n * interval '1 microsecond' AS id, 'x' AS title FROM generate_series(1, 501) n", []int{500, 1}},
		{"large rows", "SELECT n AS id, repeat('x', 100000) AS title FROM generate_series(1, 70) n", []int{64, 6}},
		{"a row without an id", "SELECT nullif(n, 3) AS id, 'x' AS title FROM generate_series(1, 502) n", []int{499, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var pages []int
			ids, incomplete := map[string]bool{}, false
			for _, page := range run(t, configure(server, reader, memories("s", tt.query))) {
				pages, incomplete = append(pages, len(page.Memories)), incomplete || page.Incomplete
				for _, m := range page.Memories {
					if ids[m.ExternalID] {
						t.Errorf("%s was read twice", m.ExternalID)
					}
					ids[m.ExternalID] = true
				}
				if page.List != "s" {
					t.Errorf("the page is of the list %q, want the stream's name", page.List)
				}
				if page.Shifting {
					t.Error("a page shifts, want none: a key names a row")
				}
			}
			if diff := cmp.Diff(tt.pages, pages); diff != "" {
				t.Errorf("rows of the pages differ (-want +got):\n%s", diff)
			}
			if want := tt.name == "a row without an id"; incomplete != want {
				t.Errorf("incomplete = %t, want %t", incomplete, want)
			}
		})
	}
}

// TestConnector_Fetch_tallies counts a column and a value inside of one over all pages of a query, exactly, and tells a column that the
// query lacks.
func TestConnector_Fetch_tallies(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "counted", "")
	const query = "SELECT n AS id, 'x' AS title, 0.1 AS amount, json_build_object('a/b', ARRAY[n, -n]) AS nested FROM generate_series(1, 1003) n"
	c, f := source(t, local(), configure(server, reader, memories("others", "SELECT 1 AS id, 'x' AS title, 7 AS amount"), memories("sales", query)))
	tally := func(pointer string, a goal.Aggregate) {
		f.Tallies = append(f.Tallies, &goal.Tally{Source: goal.Source{Stream: "sales", Pointer: pointer, Aggregate: a}})
	}
	tally("/amount", goal.Sum)
	tally("/nested/a~1b/1", goal.Min)
	tally("", goal.Count)
	tally("/it's", goal.Sum)
	all(t, c, f)
	var got []string
	for _, one := range f.Tallies {
		value, problem := one.Result()
		got = append(got, value+problem)
	}
	if diff := cmp.Diff([]string{"100.3", "-1003", "1003", "no record of sales has a number at /it's"}, got); diff != "" {
		t.Errorf("values differ (-want +got):\n%s", diff)
	}
	f.Only = "sales"
	page, err := c.Fetch(t.Context(), f)
	errtest.Must(t, err)
	if page.List != "sales" {
		t.Errorf("of sales alone, the first page is of %q, want sales", page.List)
	}
	if diff := cmp.Diff([]string{"others", "sales"}, c.Streams(f.Config)); diff != "" {
		t.Errorf("streams differ (-want +got):\n%s", diff)
	}
}

// TestConnector_Fetch_ties counts every row, also where the rows at the edge of a page have the same id. It fails if there are too many of
// them, because no page can begin behind a part of them.
func TestConnector_Fetch_ties(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "ties", "")
	tests := []struct {
		name, query, want string
	}{
		{"at 500 rows", "SELECT n / 2 AS id, 'x' AS title FROM generate_series(1, 1003) n", "1003"},
		{"at 4 MiB", "SELECT n / 2 AS id, repeat('x', 100000) AS title FROM generate_series(1, 70) n", "70"},
		{"at the end", "SELECT n / 2 AS id, 'x' AS title FROM generate_series(1, 501) n", "501"},
		{"500 of one id", "SELECT n / 500 AS id, 'x' AS title FROM generate_series(1, 1400) n", "1400"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, f := source(t, local(), configure(server, reader, memories("s", tt.query)))
			count := &goal.Tally{Source: goal.Source{Stream: "s", Aggregate: goal.Count}}
			f.Tallies = []*goal.Tally{count}
			all(t, c, f)
			if got, problem := count.Result(); got+problem != tt.want {
				t.Errorf("%s rows, want %s", got+problem, tt.want)
			}
		})
	}
	_, err := first(t, configure(server, reader, memories("s", "SELECT 7 AS id, 'x' AS title FROM generate_series(1, 501) n")))
	if got, want := detail(err), "more than 500 rows of the stream s, or more than 8 MiB of them, have the same id or none"; !strings.HasPrefix(got, want) {
		t.Errorf("error %q, want one that begins with %q", got, want)
	}
}

// TestConnector_Fetch_deletedBetween reads every row that stays while others vanish between two pages.
func TestConnector_Fetch_deletedBetween(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	reader := role(t, server, "vanishing", "CREATE TABLE vanishing AS SELECT n AS id, 'x' AS title FROM generate_series(1, 600) n; GRANT SELECT ON vanishing TO %s")
	c, f := source(t, local(), configure(server, reader, memories("s", "TABLE vanishing")))
	page, err := connector.FetchPage(t.Context(), c, f)
	errtest.Must(t, err)
	server.Run(t, "DELETE FROM vanishing WHERE id <= 500")
	f.Checkpoint = page.Checkpoint
	page, err = connector.FetchPage(t.Context(), c, f)
	errtest.Must(t, err)
	if len(page.Memories) != 100 {
		t.Errorf("%d rows on the second page, want 100", len(page.Memories))
	}
}

// TestConnector_Fetch_writes lets no query change anything, and warns of a role that could.
func TestConnector_Fetch_writes(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	writer := role(t, server, "writer", `CREATE TABLE kept (n int); CREATE SEQUENCE numbers; GRANT SELECT, INSERT ON kept TO %s; GRANT ALL ON SEQUENCE numbers TO %s;
		CREATE FUNCTION writes() RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO kept VALUES (1) RETURNING n';
		CREATE FUNCTION escapes() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''transaction_read_only'', ''off'', true); RETURN writes(); END'`)
	reader := role(t, server, "only_reader", "GRANT SELECT ON kept TO %s")
	for _, query := range []string{
		"SELECT writes() AS id, 'x' AS title", "SELECT escapes() AS id, 'x' AS title", "WITH w AS (INSERT INTO kept VALUES (1) RETURNING n) SELECT n AS id, 'x' AS title FROM w",
		"INSERT INTO kept VALUES (1) RETURNING n AS id, 'x' AS title", "SELECT 1 AS id, 'x' AS title) AS q WHERE true OR 1 IN (SELECT writes()) --",
		"SELECT nextval('numbers') AS id, 'x' AS title", "SELECT lo_create(0) AS id, 'x' AS title",
	} {
		_, err := first(t, configure(server, writer, memories("s", query)))
		if err == nil {
			t.Errorf("%s: no error, want one", query)
		}
	}
	count, err := first(t, configure(server, reader, memories("s", "SELECT count(*) AS id, 'x' AS title FROM kept")))
	errtest.Must(t, err)
	if got := count.Memories[0].ExternalID; got != "s/0" {
		t.Errorf("%s rows were written, want none", got)
	}
	if len(count.Warnings) > 0 {
		t.Errorf("warnings %q for a role that only reads, want none", count.Warnings)
	}
	for _, user := range []string{writer, role(t, server, "super", "ALTER ROLE %s SUPERUSER")} {
		page, err := first(t, configure(server, user, memories("s", "SELECT 1 AS id, 'x' AS title")))
		errtest.Must(t, err)
		if len(page.Warnings) != 1 {
			t.Errorf("%s: warnings %q, want one", user, page.Warnings)
		}
	}
}

// TestConnector_Fetch_cancelled ends with the context while the server works.
func TestConnector_Fetch_cancelled(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	c, f := source(t, local(), configure(server, role(t, server, "cancelled", ""), memories("s", "SELECT 1 AS id, 'x' AS title FROM pg_sleep(60)")))
	ctx, cancel := context.WithCancel(t.Context())
	admin := server.Connect(t, postgrestest.User, postgrestest.Password)
	go func() {
		until(t, admin, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'cancelled' AND wait_event = 'PgSleep'")
		cancel()
	}()
	began := time.Now()
	_, err := connector.FetchPage(ctx, c, f)
	if got, want := detail(err), "the database cannot be read: cancelled"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %s, want it to end with the context", took)
	}
}

// until runs a query that counts something, until there is one or the test ends.
func until(t *testing.T, admin *pgconn.PgConn, query string) {
	t.Helper()
	for t.Context().Err() == nil {
		if result, err := admin.Exec(t.Context(), query).ReadAll(); err == nil && string(result[0].Rows[0][0]) != "0" {
			return
		}
	}
}
