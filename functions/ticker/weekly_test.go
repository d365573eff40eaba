package ticker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"orgops/functions/projector"
	"orgops/shared/base/id"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// TestTicker_WeeklyBrief runs the projector and the ticker for four weeks: from a company's first change on, each Monday
// brings one entry of kind brief, which is announced to subscribers.
func TestTicker_WeeklyBrief(t *testing.T) {
	t.Parallel()
	r := setup(t)
	midweek(r)
	p := &projector.Projector{Store: r.Store, Logger: r.Logger, Now: r.Clock.Now}
	var all []store.Change
	fold := func() { // the next change of each company
		changes := r.Changes(3)
		errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: changes}))
		all = append(all, changes...)
	}
	companies := []string{id.New(), id.New(), id.New()}
	for _, company := range companies {
		r.Put(company, integration.Key("feed"), integration.Entity, integration.Integration{Provider: "feed", Kind: "feed", CreatedAt: r.Clock.Now()})
	}
	fold() // the integrations
	fold() // their entries
	for range 4 {
		for range 7 * 24 {
			r.Clock.Advance(time.Hour)
			r.tick()
			r.tick() // a repeated tick
		}
		fold()
	}
	briefs := map[string][]timeline.Entry{}
	for _, change := range all {
		var e timeline.Entry
		if change.Entity != timeline.Entity {
			continue
		}
		if errtest.Must(t, json.Unmarshal(change.New.Body, &e)); e.Kind != timeline.Brief {
			continue
		}
		briefs[change.Company] = append(briefs[change.Company], e)
		events, err := event.Of(change)
		errtest.Must(t, err)
		if got, want := events[0].Type, event.TimelineEntryCreated; got != want {
			t.Errorf("the entry of a brief is announced as %s, want %s", got, want)
		}
	}
	minutes := map[time.Time]bool{}
	for _, company := range companies {
		if got := len(briefs[company]); got != 4 {
			t.Fatalf("%d briefs of %s in 4 weeks, want 4", got, company)
		}
		for n, e := range briefs[company] {
			if got := e.At.Weekday(); got != time.Monday {
				t.Errorf("a brief of a %v, want Monday", got)
			}
			if n > 0 && e.At.Sub(briefs[company][n-1].At) != timeline.Week {
				t.Errorf("a brief %v after the one before, want a week", e.At.Sub(briefs[company][n-1].At))
			}
		}
		minutes[briefs[company][0].At] = true
		wantMarkdown(t, company, briefs[company][0])
	}
	if got := len(minutes); got != len(companies) {
		t.Errorf("the companies' briefs have %d different times, want %d", got, len(companies))
	}
}

// midweek moves the clock to a Wednesday, so that the next Monday is more than a day away.
func midweek(r *running) {
	r.Clock.Set(r.Clock.Now().Truncate(timeline.Week).Add(timeline.Week + 48*time.Hour))
}

// TestTicker_WeeklyBrief_New writes no brief for a company that is younger than a day.
func TestTicker_WeeklyBrief_New(t *testing.T) {
	t.Parallel()
	r := setup(t)
	due := timeline.NextBrief("a", r.Clock.Now().Add(timeline.Week))
	r.Clock.Set(due.Add(-time.Minute))
	r.Put("a", integration.Key("feed"), integration.Entity, integration.Integration{Provider: "feed", Kind: "feed", CreatedAt: r.Clock.Now()})
	p := &projector.Projector{Store: r.Store, Logger: r.Logger, Now: r.Clock.Now}
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: r.Changes(1)}))
	r.Clock.Set(due.Add(time.Minute))
	r.tick()
	r.wantBriefs("a", 0)
	r.Clock.Set(due.Add(timeline.Week + time.Minute))
	r.tick()
	r.wantBriefs("a", 1)
}

func (r *running) wantBriefs(company string, want int) {
	r.T.Helper()
	got := 0
	for _, e := range worktest.All[timeline.Entry](r.Harness, company, timeline.Prefix) {
		if e.Kind == timeline.Brief {
			got++
		}
	}
	if got != want {
		r.T.Errorf("%d briefs, want %d", got, want)
	}
}

// wantMarkdown checks that a brief's entry carries the brief as Markdown and the path of the same period.
func wantMarkdown(t *testing.T, company string, e timeline.Entry) {
	t.Helper()
	var details struct{ Markdown, Href string }
	errtest.Must(t, json.Unmarshal(e.Details, &details))
	if want := "- feed: configured"; !strings.Contains(details.Markdown, want) {
		t.Errorf("the Markdown is %q, want it to contain %q", details.Markdown, want)
	}
	if want := "/companies/" + company + "/intelligence/brief?since="; !strings.HasPrefix(details.Href, want) {
		t.Errorf("href = %q, want it to begin with %q", details.Href, want)
	}
}

// TestTicker_WeeklyBrief_Concurrent writes one brief although several tickers read its timer, and none for a company that has
// no context.
func TestTicker_WeeklyBrief_Concurrent(t *testing.T) {
	t.Parallel()
	r := setup(t)
	midweek(r)
	c := r.Company("a")
	r.Put("a", integration.Key("feed"), integration.Entity, integration.Integration{Provider: "feed", Kind: "feed", CreatedAt: r.Clock.Now()})
	p := &projector.Projector{Store: r.Store, Logger: r.Logger, Now: r.Clock.Now}
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: r.Changes(1)}))
	b := r.Company("b")
	errtest.Must(t, b.Commit(t.Context(), timeline.SetBrief(b, r.Clock.Now())))
	r.Clock.Set(timeline.NextBrief(c.ID(), r.Clock.Now()).Add(8 * time.Hour))
	done := make(chan error)
	for range 4 {
		go func() { done <- r.another().Tick(t.Context()) }()
	}
	for range 4 {
		errtest.Must(t, <-done)
	}
	briefs := 0
	for _, e := range worktest.All[timeline.Entry](r.Harness, "a", timeline.Prefix) {
		if e.Kind == timeline.Brief {
			briefs++
		}
	}
	if briefs != 1 {
		t.Errorf("%d briefs, want 1", briefs)
	}
	if got := len(worktest.All[timeline.Entry](r.Harness, "b", timeline.Prefix)); got != 0 {
		t.Errorf("%d entries of a company without a context, want 0", got)
	}
}
