package postgresql_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/postgresql"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/postgrestest"
)

// TestGuide makes the role of the guide, and reads what its configuration says.
func TestGuide(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	block := func(language string) string {
		found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(postgresql.Guide())
		if found == nil {
			t.Fatalf("the guide has no block of %s", language)
		}
		return found[1]
	}
	server.Run(t, `CREATE TABLE customers (id int PRIMARY KEY, name text, plan text, updated_at timestamptz);
		INSERT INTO customers VALUES (7, 'Acme', 'Pro', now()); CREATE TABLE subscriptions (amount numeric, active boolean);
		INSERT INTO subscriptions VALUES (41000, true), (200.5, true), (900, false)`)
	server.Run(t, block("sql"))
	var config object
	errtest.Must(t, json.Unmarshal([]byte(block("json")), &config))
	config["host"], config["port"], config["caCertificate"] = postgrestest.Host, server.Port, server.CA
	c, f := source(t, local(), config)
	f.Credentials = map[string]string{"password": "a long random text"}
	var got []string
	for _, page := range all(t, c, f) {
		got = append(got, page.Warnings...)
		for _, m := range page.Memories {
			got = append(got, m.ExternalID+": "+m.Title+", "+m.Body)
		}
		for _, g := range page.Goals {
			got = append(got, g.ExternalID+": "+g.Title+" "+g.Measure.Current+" of "+g.Measure.Target+" "+g.Measure.Unit)
		}
	}
	if diff := cmp.Diff([]string{"customers/7: Acme, Pro", "revenue/mrr: MRR 41200.50 of 50000 EUR"}, got); diff != "" {
		t.Errorf("what the guide brings differs (-want +got):\n%s", diff)
	}
}
