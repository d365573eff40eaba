package syncer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/syncrun"
)

// TestSyncer_Measured counts runs when they end, and items when they are stored.
func TestSyncer_Measured(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(pages(3, 40))
	r.sync(syncrun.Live)
	r.sync(syncrun.Sandbox)
	r.provider.answer(failing(fault.New(fault.Unavailable, "down")))
	r.finishLate(r.request(syncrun.Live), syncrun.Failed)
	r.provider.answer(pages(1, 1))
	r.finish(r.request(syncrun.Live, func(rec *syncrun.StoredRun) { rec.Work.CancelRequested = true }), syncrun.Cancelled)
	got, companies := r.Measured()
	want := map[string]float64{"SyncsSucceeded": 2, "SyncsFailed": 1, "SyncItems": 240}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, companies); diff != "" {
		t.Errorf("companies of the failures differ (-want +got):\n%s", diff)
	}
}
