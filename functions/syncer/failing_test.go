package syncer_test

import (
	"slices"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// integration returns the integration as it is stored.
func (r *running) integration() (i integration.Integration) {
	r.T.Helper()
	if !r.Get("a", integration.Key("paged"), &i) {
		r.T.Fatal("the integration is gone")
	}
	return i
}

func (r *running) schedule(every string) {
	r.T.Helper()
	r.Change("a", "paged", func(i *integration.Integration) {
		i.Schedule = &integration.Schedule{Every: every, Since: r.Clock.Now()}
	})
}

// TestSyncer_SchedulePauses pauses a schedule after five failed runs in a row.
func TestSyncer_SchedulePauses(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.schedule("15m")
	fail := func(n int) {
		t.Helper()
		r.provider.answer(failing(fault.Wrap(fault.Unavailable, "down", errDown)))
		for range n {
			r.finishLate(r.request(syncrun.Live), syncrun.Failed)
		}
	}
	wantPaused := func(want bool) {
		t.Helper()
		if got := r.integration().Schedule.PausedAt != nil; got != want {
			t.Fatalf("paused = %t, want %t", got, want)
		}
	}
	fail(4)
	r.provider.answer(pages(1, 1))
	r.sync(syncrun.Live)
	fail(4)
	wantPaused(false)
	fail(1)
	wantPaused(true)
	r.schedule("15m") // it begins again
	fail(1)
	wantPaused(false)
}

// TestSyncer_Demoted closes the port of a source that has failed for five days, and leaves its other ports open.
func TestSyncer_Demoted(t *testing.T) {
	t.Parallel()
	for _, other := range []bool{false, true} {
		r := setup(t)
		r.Change("a", "paged", func(i *integration.Integration) {
			i.Certification.Ports = []integration.Port{integration.SyncPull}
			if other {
				i.Certification.Ports = append(i.Certification.Ports, integration.InboundReceive)
			}
		})
		r.provider.answer(failing(fault.Wrap(fault.Unavailable, "down", errDown)))
		r.finishLate(r.request(syncrun.Live), syncrun.Failed)
		if !r.integration().Allows(integration.SyncPull, r.Clock.Now()) {
			t.Fatal("the port is closed after one failure, want it open")
		}
		r.Clock.Advance(5 * 24 * time.Hour)
		r.finishLate(r.request(syncrun.Live), syncrun.Failed)
		i := r.integration()
		if i.Allows(integration.SyncPull, r.Clock.Now()) {
			t.Error("the port is open after five days, want it closed")
		}
		want := integration.Sandbox
		if other {
			want = integration.Certified
		}
		if i.State != want {
			t.Errorf("the state is %s, want %s", i.State, want)
		}
		if other && !slices.Contains(i.Certification.Open(), integration.InboundReceive) {
			t.Errorf("the certification is %+v, want the other port open", i.Certification)
		}
	}
}

// TestSyncer_Demoted_Recertified begins the five days again with a new certification.
func TestSyncer_Demoted_Recertified(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(failing(fault.Wrap(fault.Unavailable, "down", errDown)))
	r.finishLate(r.request(syncrun.Live), syncrun.Failed)
	r.Clock.Advance(5 * 24 * time.Hour)
	r.Change("a", "paged", func(i *integration.Integration) { i.Certification.PassedAt = r.Clock.Now() })
	r.finishLate(r.request(syncrun.Live), syncrun.Failed)
	if !r.integration().Allows(integration.SyncPull, r.Clock.Now()) {
		t.Error("the port is closed right after a certification, want it open")
	}
	r.Clock.Advance(5 * 24 * time.Hour)
	r.finishLate(r.request(syncrun.Live), syncrun.Failed)
	if r.integration().Allows(integration.SyncPull, r.Clock.Now()) {
		t.Error("the port is open five days after the certification, want it closed")
	}
}

// TestSyncer_Demoted_Timer sets a timer with the pause of a schedule, at five days after the first failure.
func TestSyncer_Demoted_Timer(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.schedule("15m")
	r.provider.answer(failing(fault.Wrap(fault.Unavailable, "down", errDown)))
	for range integration.MaxFailures {
		r.finishLate(r.request(syncrun.Live), syncrun.Failed)
	}
	at := r.slot().Failing.Add(integration.MaxFailing)
	key := r.Company("a").Timer(at, integration.FailingTimer, "paged@").Key
	var found []string
	for shard := range store.DueShards {
		page, err := r.Harness.Store.Query(t.Context(), store.Due(shard), store.Query{Prefix: key})
		errtest.Must(t, err)
		for _, item := range page.Items {
			found = append(found, item.Key)
		}
	}
	if len(found) != 1 {
		t.Errorf("timers at %v: %v, want one of the kind %s", at, found, integration.FailingTimer)
	}
}
