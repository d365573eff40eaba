package projection_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// TestFold_Shadow keeps since when the company has had a policy that only records.
func TestFold_Shadow(t *testing.T) {
	t.Parallel()
	h := newHistory()
	begin := time.Time{}
	steps := []struct {
		modes []policy.Mode
		want  int
	}{{[]policy.Mode{"enforce"}, 0}, {[]policy.Mode{"enforce", "log-only"}, 1}, {[]policy.Mode{"log-only", "log-only"}, 2}, {nil, 0}}
	for n, step := range steps {
		s := policy.Stored{UpdatedAt: h.after(time.Hour).now}
		for _, mode := range step.modes {
			s.Policies = append(s.Policies, policy.Statement{ID: "p", Mode: mode, Text: "t"})
		}
		h.put(policy.StoredEntity, policy.StoredKey, s)
		if n == 1 {
			begin = h.now
		}
		p, _ := h.fold(t)
		want := projection.Governance{Shadow: step.want}
		if step.want > 0 {
			want.ShadowAt = begin
		}
		got := projection.Governance{Shadow: p.Governance.Shadow, ShadowAt: p.Governance.ShadowAt}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after step %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestFold_Schedule shows a source's schedule, and when it was paused.
func TestFold_Schedule(t *testing.T) {
	t.Parallel()
	h := newHistory()
	i := integration.Integration{Provider: "feed", Kind: "feed", Schedule: &integration.Schedule{Every: "1h", Since: h.now}}
	h.put(integration.Entity, integration.Key("feed"), i)
	h.put(integration.Entity, integration.Key("feed"), i.Paused(h.after(time.Hour).now))
	p, _ := h.fold(t)
	got := p.Integrations["feed"]
	want := projection.Integration{SyncSeconds: 3600, SyncPausedAt: h.now}
	if diff := cmp.Diff(want, projection.Integration{SyncSeconds: got.SyncSeconds, SyncPausedAt: got.SyncPausedAt}); diff != "" {
		t.Errorf("schedule differs (-want +got):\n%s", diff)
	}
}

// TestFold_Outcomes keeps the outcomes of the newest ten live runs that succeeded or failed, in the order of their ends.
func TestFold_Outcomes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	states := []syncrun.State{syncrun.Failed, syncrun.Failed, syncrun.Succeeded, syncrun.Cancelled}
	var want []int64
	for n := range 16 {
		end := h.after(time.Hour).now
		state := states[n%4]
		h.put(syncrun.Entity, syncrun.Key(fmt.Sprint(n)), syncrun.Run{ID: fmt.Sprint(n), Provider: "feed", Mode: syncrun.Live, State: state, FinishedAt: &end})
		switch state {
		case syncrun.Failed:
			want = append(want, -end.Unix())
		case syncrun.Succeeded:
			want = append(want, end.Unix())
		}
	}
	p, _ := h.fold(t)
	s := p.Syncs["feed"]
	if diff := cmp.Diff(want[2:], s.Outcomes); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if rate, _ := s.SuccessRate(); rate != 0.4 {
		t.Errorf("success rate = %v, want 0.4", rate)
	}
	if _, ok := (projection.Sync{}).SuccessRate(); ok {
		t.Error("there is a success rate without a run, want none")
	}
}

// TestFold_Successes keeps the times of the newest three successful live runs.
func TestFold_Successes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	var want []time.Time
	for n := range 7 {
		end := h.after(time.Hour).now
		h.put(syncrun.Entity, syncrun.Key(fmt.Sprint(n)), syncrun.Run{
			ID: fmt.Sprint(n), Provider: "feed", Mode: syncrun.Live, State: syncrun.Succeeded, FinishedAt: &end,
		})
		want = append(want, end)
	}
	p, _ := h.fold(t)
	if diff := cmp.Diff(want[4:], p.Syncs["feed"].Successes); diff != "" {
		t.Errorf("successes differ (-want +got):\n%s", diff)
	}
}

// TestFold_Exceeded shows the executives that asked for too much: each with its last such day, the newest 10.
func TestFold_Exceeded(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for n := range 60 {
		who := timeline.Reference{Type: executive.Entity, ID: fmt.Sprintf("%02d", n)}
		at := h.after(time.Hour).now
		h.put(timeline.Entity, timeline.Key(fmt.Sprint(n)), timeline.Entry{
			At: at, Kind: timeline.ExecutiveActed, Subject: who, Details: []byte(`{"name":"Chief","exceededQuota":7}`),
		})
	}
	h.put(timeline.Entity, timeline.Key("x"), timeline.Entry{At: h.now, Kind: timeline.ExecutiveActed, Subject: timeline.Reference{ID: "other"}})
	p, _ := h.fold(t)
	if got := len(p.Executives); got != 10 {
		t.Errorf("%d executives, want 10", got)
	}
	want := projection.Excess{Name: "Chief", QuotaPerDay: 7, ExceededAt: h.now}
	if diff := cmp.Diff(want, p.Executives["59"]); diff != "" {
		t.Errorf("the last executive (-want +got):\n%s", diff)
	}
	if _, known := p.Executives["49"]; known {
		t.Error("the fiftieth executive is known, want it dropped for a later one")
	}
}
