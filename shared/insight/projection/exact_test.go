package projection_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestRebuild_Exact gives the context of the changes for an integration that was certified within the millisecond of its commit.
// The time of a commit is exact to the millisecond, and the time in a record to the nanosecond.
func TestRebuild_Exact(t *testing.T) {
	t.Parallel()
	h := newHistory()
	i := integration.Integration{Provider: "feed", Kind: "feed", State: integration.Sandbox, Enabled: true, CreatedAt: h.now}
	created := h.put(integration.Entity, integration.Key("feed"), i)
	h.after(time.Hour)
	i.State, i.Certification = integration.Certified, &integration.Certification{PassedAt: h.now.Add(300 * time.Microsecond), ExpiresAt: h.now.Add(time.Hour)}
	certified := h.put(integration.Entity, integration.Key("feed"), i)
	want, _, failed := projection.Fold(projection.Empty("a"), []store.Change{created, certified})
	errtest.Must(t, failed.Err())
	body, err := json.Marshal(i)
	errtest.Must(t, err)
	got, failed := projection.Rebuild(want, []store.Item{{Key: integration.Key("feed"), Entity: integration.Entity, Version: 2, At: h.now, Body: body}})
	errtest.Must(t, failed.Err())
	if diff := cmp.Diff(want.Integrations, got.Integrations); diff != "" {
		t.Errorf("integrations (-of the changes +of the records):\n%s", diff)
	}
}
