package ticker_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// TestTicker_Notice asks again for each notice that still waits, although its message was lost, and leaves the others. No notice waits for
// ever: it has a timer until it has ended.
func TestTicker_Notice(t *testing.T) {
	t.Parallel()
	r := setup(t)
	start := r.Clock.Now().UTC()
	c := r.Company("a")
	waits := func(id string, edit func(*notice.Stored)) {
		n := notice.Stored{Notice: notice.Notice{ID: id, State: notice.Waiting, CreatedAt: start, DueAt: start}}
		if edit != nil {
			edit(&n)
		}
		errtest.Must(t, c.Commit(t.Context(), n.Create(c)...))
	}
	waits("lost", nil)
	waits("later", func(n *notice.Stored) { n.DueAt = start.Add(time.Hour) })
	waits("claimed", func(n *notice.Stored) { n.ClaimedAt = start.Add(30 * time.Minute) })
	waits("ended", func(n *notice.Stored) { n.State = notice.Sent })
	waits("leads", func(n *notice.Stored) { n.DueAt, n.Joined = start.Add(time.Hour), []string{"joined"} })
	waits("joined", func(n *notice.Stored) { n.JoinedTo = "leads" })
	waits("left by one that has ended", func(n *notice.Stored) { n.JoinedTo = "ended" })
	waits("left by one that is gone", func(n *notice.Stored) { n.JoinedTo = "expired" })
	waits("left by one without it", func(n *notice.Stored) { n.JoinedTo = "leads" })
	asked := func() map[string]int64 {
		r.tick()
		all := map[string]int64{}
		for item, err := range c.Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
			errtest.Must(t, err)
			var n notice.Stored
			errtest.Must(t, item.Decode(&n))
			if item.Version > 1 {
				all[n.ID+" "+n.JoinedTo+string(n.State)] = item.Version - 1
			}
		}
		return all
	}
	want := func(after string, got, want map[string]int64) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: how often notices were asked for differs (-want +got):\n%s", after, diff)
		}
	}
	r.Clock.Set(start.Add(31 * time.Minute))
	left := map[string]int64{"lost waiting": 1, "left by one that has ended waiting": 1, "left by one that is gone waiting": 1, "left by one without it waiting": 1}
	want("after half an hour", asked(), left)
	for range 2 {
		r.Clock.Advance(31 * time.Minute)
		asked()
	}
	want("after an hour and a half", asked(), map[string]int64{
		"lost waiting": 3, "left by one that has ended waiting": 3, "left by one that is gone waiting": 3, "left by one without it waiting": 3, "claimed waiting": 2, "later waiting": 1, "leads waiting": 1,
	})
	for range 8 * 24 {
		r.Clock.Advance(time.Hour)
		r.tick()
	}
	for _, n := range worktest.All[notice.Stored](r.Harness, "a", notice.Prefix) {
		if n.State == notice.Waiting {
			t.Errorf("the notice %q still waits after eight days: %+v", n.ID, n)
		}
	}
}
