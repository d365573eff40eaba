package syncer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/syncrun"
)

// TestMeasured counts runs when they end, and items when they are stored.
func TestMeasured(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(pages(3, 40))
	r.sync(syncrun.Live)
	r.sync(syncrun.Sandbox)
	r.provider.answer(failing(fault.New(fault.Unavailable, "down")))
	j := r.request(syncrun.Live)
	for due := r.handle(j); !due.IsZero(); due = r.handle(j) {
		r.Clock.Set(due)
	}
	r.ended(j, syncrun.Failed)
	r.provider.answer(pages(1, 1))
	j = r.request(syncrun.Live, func(rec *syncrun.StoredRun) { rec.Work.CancelRequested = true })
	r.handle(j)
	r.ended(j, syncrun.Cancelled)
	got, companies := r.Measured()
	want := map[string]float64{"SyncsSucceeded": 2, "SyncsFailed": 1, "SyncItems": 240}
	if diff := cmp.Diff(want, got); diff != "" || len(companies) != 1 || companies[0] != "a" {
		t.Errorf("metrics of %q (-want +got):\n%s", companies, diff)
	}
}
