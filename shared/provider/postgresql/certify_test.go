package postgresql_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/certify"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/policyengine"
	"orgops/shared/provider/postgresql"
	"orgops/shared/provider/postgresql/pgclient"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/postgrestest"
	"orgops/shared/testkit/webtest"
)

// TestCertify certifies a role that only reads, warns of a role that can write, and fails a role that needs no password.
func TestCertify(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	client := local()
	examiner := certify.Examiner{
		Connectors: connector.New(postgresql.New(client, pgclient.Open)), Client: client, Engine: policyengine.New(time.Now), Now: time.Now, Mappings: new(mapping.Cache),
	}
	role(t, server, postgrestest.Unasked, "")
	tests := []struct {
		role, password    string
		page, credentials finding.Status
		says              string
	}{
		{role(t, server, "certified", ""), password, finding.Pass, finding.Pass, "refused with wrong ones"},
		{role(t, server, "certified_writer", "CREATE TABLE written (n int); GRANT DELETE ON written TO %s"), password, finding.Warn, finding.Pass, "the role can write to the database"},
		{"certified", "another", finding.Fail, "", "refuses the role or its password"},
		{postgrestest.Unasked, password, finding.Pass, finding.Fail, "fetched with wrong credentials as well"},
	}
	for _, tt := range tests {
		config, err := json.Marshal(configure(server, tt.role, memories("s", "SELECT 1 AS id, 'x' AS title")))
		errtest.Must(t, err)
		report, err := examiner.Run(t.Context(), certify.Candidate{
			Company: store.For(webtest.OpenStore(t), "a"), Credentials: map[string]string{"password": tt.password},
			Integration: integration.Integration{Provider: postgresql.Kind, Enabled: true, Config: config, Permissions: []integration.Port{integration.SyncPull, integration.MemoryUpsert}},
		})
		errtest.Must(t, err)
		found, said := map[string]finding.Status{}, ""
		for _, c := range report.Checks {
			found[c.ID], said = c.Status, said+c.Reason+"\n"
		}
		if got := found["sandbox-page"]; got != tt.page {
			t.Errorf("%s: the page is %s, want %s", tt.role, got, tt.page)
		}
		if got := found["credentials"]; got != tt.credentials {
			t.Errorf("%s: the credentials are %s, want %s", tt.role, got, tt.credentials)
		}
		if !strings.Contains(said, tt.says) {
			t.Errorf("%s: the report says %q, want %q in it", tt.role, said, tt.says)
		}
		if want := tt.page != finding.Fail && tt.credentials != finding.Fail; report.Passed != want {
			t.Errorf("%s: passed = %t, want %t", tt.role, report.Passed, want)
		}
	}
}
