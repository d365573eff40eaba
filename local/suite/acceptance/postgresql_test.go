package acceptance_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"orgops/shared/testkit/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

// TestPostgreSQL connects a database in the running program: a wrong password is not certified, the rows come as memories, a number moves
// a goal, and a row that is gone is removed.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t)
	database.Run(t, `CREATE TABLE customers AS SELECT n AS id, 'Customer ' || n AS name FROM generate_series(1, 3) n;
		CREATE TABLE revenue AS SELECT 41200.50 AS mrr; CREATE ROLE founder LOGIN PASSWORD 'the right password'; GRANT SELECT ON customers, revenue TO founder`)
	tn := start(t).tenant("Database")
	tn.do("POST", tn.at("/integrations/postgresql"), map[string]any{
		"host": postgrestest.Host, "port": database.Port, "database": "postgres", "user": "founder", "caCertificate": database.CA, "streams": []any{
			map[string]any{"name": "customers", "query": "SELECT * FROM customers", "target": "memory", "idColumn": "id", "titleColumn": "name"},
			map[string]any{
				"name": "goals", "query": "SELECT 'mrr' AS id, 'MRR' AS title, mrr, 50000 AS target FROM revenue", "target": "goal", "idColumn": "id", "titleColumn": "title",
				"currentColumn": "mrr", "targetColumn": "target", "unit": "EUR",
			},
		},
	}).want(201)
	password := func(text string) {
		tn.do("PUT", tn.at("/integrations/postgresql/credentials"), map[string]any{"credentials": map[string]any{"password": text}}).want(204)
	}
	password("a wrong password")
	refused := string(tn.do("POST", tn.at("/integrations/postgresql/certification"), nil).want(200).body)
	if !strings.Contains(refused, "the database refuses the role or its password") {
		t.Errorf("the report says %s, want that the password is refused", refused)
	}
	if strings.Contains(refused, "a wrong password") {
		t.Errorf("the report quotes the password: %s", refused)
	}
	password("the right password")
	tn.certify("postgresql")
	tn.sync("postgresql")
	seen := func() string {
		type row struct{ ExternalID, Title string }
		var memories struct{ Items []row }
		var goals struct {
			Items []struct {
				Measure struct{ Current, Target string }
			}
		}
		tn.do("GET", tn.at("/memory"), nil).want(200).json(&memories)
		tn.do("GET", tn.at("/goals"), nil).want(200).json(&goals)
		slices.SortFunc(memories.Items, func(a, b row) int { return strings.Compare(a.ExternalID, b.ExternalID) })
		return fmt.Sprint(memories.Items, goals.Items)
	}
	if got, want := seen(), "[{customers/1 Customer 1} {customers/2 Customer 2} {customers/3 Customer 3}] [{{41200.50 50000}}]"; got != want {
		t.Errorf("synced %s, want %s", got, want)
	}
	database.Run(t, "DELETE FROM customers WHERE id = 3; UPDATE revenue SET mrr = 42000.10")
	tn.do("POST", tn.at("/memory/sync/postgresql"), map[string]any{"mode": "full"}).want(202)
	eventually(t, "the row is removed and the goal has moved", func() bool {
		return seen() == "[{customers/1 Customer 1} {customers/2 Customer 2}] [{{42000.10 50000}}]"
	})
}
