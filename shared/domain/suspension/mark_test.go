package suspension_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/suspension"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// TestCheck requests a recovery of each endpoint, also of more than one commit has room for.
func TestCheck(t *testing.T) {
	t.Parallel()
	st, now := webtest.OpenStore(t), time.Now().UTC()
	made, err := company.Provision(t.Context(), st, password.New(), company.New{Name: "Acme", Email: "ada@acme.test"}, now)
	errtest.Must(t, err)
	c := store.For(st, made.CompanyID)
	const endpoints = store.MaxOps + store.MaxOps/2
	for n := range endpoints {
		provider := fmt.Sprintf("webhook-%03d", n)
		errtest.Must(t, c.Commit(t.Context(), c.Create(integration.Key(provider), integration.Entity, integration.Integration{
			Provider: provider, Kind: "webhook", State: integration.Certified, Enabled: true, Config: json.RawMessage(`{}`), Permissions: []integration.Port{integration.EventDeliver},
		})))
	}
	left, err := suspension.Check(t.Context(), c, now)
	errtest.Must(t, err)
	if len(left) >= store.MaxOps {
		t.Fatalf("%d writes are left, want fewer than a commit has room for", len(left))
	}
	errtest.Must(t, c.Commit(t.Context(), left...))
	recovered := map[string]bool{}
	for item, err := range c.Items(t.Context(), store.Query{Prefix: recovery.Prefix}) {
		errtest.Must(t, err)
		var r recovery.Recovery
		errtest.Must(t, item.Decode(&r))
		recovered[r.Provider] = true
	}
	if got := len(recovered); got != endpoints {
		t.Errorf("recoveries of %d endpoints, want %d", got, endpoints)
	}
}
