package ticker_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

const ada = "0198c5f2-0000-7000-8000-000000000001"

// prefer stores preferences of a user, over what is stored at a version.
func (r *running) prefer(version int64, edit func(*notice.Preferences)) {
	r.T.Helper()
	c := r.Company("a")
	p := notice.Defaults()
	p.TimeZone, p.Brief = "Europe/Berlin", &notice.BriefTimes{At: "07:30", Days: []string{"saturday", "sunday", "monday"}}
	if edit != nil {
		edit(&p)
	}
	errtest.Must(r.T, c.Commit(r.T.Context(), p.Store(c, ada, version, r.Clock.Now())...))
}

// briefs lists when the notices of briefs were due.
func (r *running) briefs() (all []string) {
	r.T.Helper()
	for _, n := range worktest.All[notice.Stored](r.Harness, "a", notice.Prefix) {
		all = append(all, n.DueAt.Format("Mon 15:04"))
	}
	return all
}

// TestTicker_Brief makes one notice for each day of the schedule, at the person's hour, though two tickers tick and the clocks change.
func TestTicker_Brief(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", user.Key(ada), user.Entity, user.User{ID: ada, Role: user.Founder, State: user.Active})
	r.Clock.Set(time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)) // a Friday; the clocks go forward on Sunday
	r.prefer(0, nil)
	second := r.another()
	for range 4 * 24 {
		r.Clock.Advance(time.Hour)
		ended := make(chan error)
		go func() { ended <- second.Tick(t.Context()) }()
		r.tick()
		errtest.Must(t, <-ended)
	}
	if diff := cmp.Diff([]string{"Sat 06:30", "Sun 05:30", "Mon 05:30"}, r.briefs()); diff != "" {
		t.Errorf("briefs differ (-want +got):\n%s", diff)
	}
}

// TestTicker_Brief_Changed follows the preferences as they are: one timer, of the newest.
func TestTicker_Brief_Changed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		role user.Role
		edit func(*notice.Preferences)
		want []string
	}{
		"another hour":               {user.Founder, func(p *notice.Preferences) { p.Brief.At = "09:00" }, []string{"Sat 08:00"}},
		"the same hour":              {user.Founder, nil, []string{"Sat 06:30"}},
		"no brief":                   {user.Founder, func(p *notice.Preferences) { p.Brief = nil }, nil},
		"not by mail":                {user.Founder, func(p *notice.Preferences) { p.Channels.Brief = []notice.Channel{} }, nil},
		"a role that reads no brief": {user.Operator, nil, nil},
	} {
		r := setup(t)
		r.Put("a", user.Key(ada), user.Entity, user.User{ID: ada, Role: tt.role, State: user.Active})
		r.Clock.Set(time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC))
		r.prefer(0, nil)
		r.prefer(1, tt.edit)
		r.Clock.Advance(24 * time.Hour)
		r.tick()
		if diff := cmp.Diff(tt.want, r.briefs()); diff != "" {
			t.Errorf("%s: briefs differ (-want +got):\n%s", name, diff)
		}
	}
}

// TestTicker_Brief_Again goes on for a person who has stopped other mails by a click, and for one who may read the brief again.
func TestTicker_Brief_Again(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Clock.Set(time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC))
	r.Put("a", user.Key(ada), user.Entity, user.User{ID: ada})
	r.prefer(0, nil)
	errtest.Must(t, notice.Stop{Company: "a", UserID: ada, Kind: notice.Alert}.Take(t.Context(), r.Company("a"), r.Clock.Now()))
	founder := user.User{ID: ada, Role: user.Founder, State: user.Active}
	for _, u := range []user.User{
		founder, {ID: ada, Role: user.Operator, State: user.Active}, {ID: ada, Role: user.Founder, State: user.Disabled},
		founder, founder, founder, founder, founder, // until the next Saturday
	} {
		c := r.Company("a")
		item, err := c.Get(t.Context(), user.Key(ada), nil)
		errtest.Must(t, err)
		errtest.Must(t, c.Commit(t.Context(), c.Save(user.Key(ada), user.Entity, item.Version, u)))
		for range 24 {
			r.Clock.Advance(time.Hour)
			r.tick()
		}
	}
	if diff := cmp.Diff([]string{"Sat 06:30", "Sat 05:30"}, r.briefs()); diff != "" {
		t.Errorf("briefs differ (-want +got):\n%s", diff)
	}
}

// TestTicker_Brief_Left ends the timers of a person who has left.
func TestTicker_Brief_Left(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.prefer(0, nil)
	for range 14 {
		r.Clock.Advance(24 * time.Hour)
		r.tick()
	}
	for shard := range store.DueShards {
		page, err := r.Store.Query(t.Context(), store.Due(shard), store.Query{})
		errtest.Must(t, err)
		if len(page.Items) > 0 {
			t.Errorf("timers of a person who has left: %d, want none", len(page.Items))
		}
	}
}
