package ticker_test

import (
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/testkit/errtest"
)

// TestTicker_Demote closes the port of a source five days after its first failed sync, when its schedule has been paused since.
func TestTicker_Demote(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(i *integration.Integration, now time.Time)
		want bool // the port is open
	}{
		"still failing": {edit: func(*integration.Integration, time.Time) {}, want: false},
		"resumed":       {edit: func(i *integration.Integration, _ time.Time) { i.Schedule.PausedAt = nil }, want: true},
		"paused again": {
			edit: func(i *integration.Integration, now time.Time) { *i = i.Paused(now) },
			want: true,
		},
		"certified meanwhile": {
			edit: func(i *integration.Integration, now time.Time) { i.Certification.PassedAt = now },
			want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.pause(r.Clock.Now())
			r.Clock.Advance(3 * 24 * time.Hour)
			r.Change("a", "feed", func(i *integration.Integration) { tt.edit(i, r.Clock.Now()) })
			r.Clock.Advance(integration.MaxFailing - 3*24*time.Hour - time.Minute)
			r.wantOpen(true)
			r.Clock.Advance(time.Minute)
			r.wantOpen(tt.want)
		})
	}
}

// TestTicker_Demote_Works leaves a source alone whose last sync, which a user requested, has succeeded.
func TestTicker_Demote_Works(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.pause(r.Clock.Now())
	r.Put("a", syncrun.SlotKey("feed"), syncrun.SlotEntity, syncrun.Slot{})
	r.Clock.Advance(integration.MaxFailing)
	r.wantOpen(true)
}

// pause stores a certified feed that has failed since a time, with its schedule paused.
func (r *running) pause(failing time.Time) {
	r.T.Helper()
	r.follows("a", "15m", func(i *integration.Integration) {
		i.Permissions = append(i.Permissions, integration.InboundReceive)
		i.Certification.Ports = i.Permissions
	})
	r.Put("a", syncrun.SlotKey("feed"), syncrun.SlotEntity, syncrun.Slot{Failing: failing, Failures: integration.MaxFailures})
	r.Change("a", "feed", func(i *integration.Integration) {
		*i = i.Paused(failing)
		errtest.Must(r.T, r.Company("a").Commit(r.T.Context(), i.Demotion(r.Company("a"), failing)))
	})
}

// wantOpen lets the timers that are due take effect, and checks whether the source may sync.
func (r *running) wantOpen(want bool) {
	r.T.Helper()
	r.tick()
	var i integration.Integration
	r.Get("a", integration.Key("feed"), &i)
	if got := i.Allows(integration.SyncPull, r.Clock.Now()); got != want {
		r.T.Errorf("after %v the source may sync: %t, want %t", r.Clock.Now(), got, want)
	}
	if !i.Allows(integration.InboundReceive, r.Clock.Now()) {
		r.T.Error("the port to receive is closed, want it open")
	}
}
