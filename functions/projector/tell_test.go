package projector_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// told lists what was told of the company's recommendations, by rule.
func told(t *testing.T, s store.Store) map[string]recommendation.State {
	t.Helper()
	all := map[string]recommendation.State{}
	for item, err := range store.For(s, "acme").Items(t.Context(), store.Query{Prefix: recommendation.ToldPrefix}) {
		errtest.Must(t, err)
		var one recommendation.Told
		errtest.Must(t, item.Decode(&one))
		all[one.Rule] = one.State
	}
	return all
}

// step folds a change of a time, once by the projector and once by another process.
func step(t *testing.T, p *projector.Projector, s store.Store, c store.Change, at time.Time) {
	t.Helper()
	c.At = at
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: []store.Change{c}}))
	errtest.Must(t, newProjector(s).Handle(t.Context(), store.Batch{Changes: []store.Change{c}}))
}

// TestProjector_Tell checks that each opening and each ending of a recommendation is stored once: after a change of its facts, of a
// decision about it, and of the time alone.
func TestProjector_Tell(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	at := time.Now().UTC().Truncate(time.Minute).AddDate(0, 0, -20)
	is := &integration.Integration{
		Provider: "feed", Kind: "feed", State: integration.Sandbox, Enabled: true, Permissions: []integration.Port{integration.SyncPull}, CreatedAt: at, UpdatedAt: at,
	}
	want := func(name string, want map[string]recommendation.State) {
		t.Helper()
		got := told(t, s)
		for rule := range got {
			if _, named := want[rule]; !named && rule != "certify-integration" && rule != "connect-source" && rule != "resume-integration" {
				delete(got, rule)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: recommendations that were told differ (-want +got):\n%s", name, diff)
		}
	}
	step(t, p, s, feedChange(10, nil, is), at)
	want("configured", map[string]recommendation.State{"connect-source": recommendation.Succeeded, "certify-integration": recommendation.Active})

	subject := timeline.Reference{Type: "integration", ID: "feed"}
	dismissed := recommendation.Stored{ID: recommendation.ID("certify-integration", subject), Rule: "certify-integration", Subject: subject}
	dismissed.Priority = recommendation.P2
	dismissed = dismissed.Dismiss("u", "planned", "We do it next week.", at.AddDate(0, 0, 7), at)
	step(t, p, s, put("acme", 20, recommendation.Entity, recommendation.Key(dismissed.ID), dismissed), at.Add(time.Minute))
	want("dismissed", map[string]recommendation.State{"connect-source": recommendation.Succeeded, "certify-integration": recommendation.Dismissed})

	step(t, p, s, remembered("acme", 30), at.AddDate(0, 0, 8))
	want("dismissal over", map[string]recommendation.State{"connect-source": recommendation.Succeeded, "certify-integration": recommendation.Active})

	off := *is
	off.Disable(integration.DisabledManually, at.AddDate(0, 0, 8))
	step(t, p, s, feedChange(40, is, &off), at.AddDate(0, 0, 8))
	want("disabled", map[string]recommendation.State{"connect-source": recommendation.Succeeded, "certify-integration": recommendation.Succeeded})

	step(t, p, s, remembered("acme", 50), at.AddDate(0, 0, 16))
	want("time alone", map[string]recommendation.State{
		"connect-source": recommendation.Succeeded, "certify-integration": recommendation.Succeeded, "resume-integration": recommendation.Active,
	})
	var one recommendation.Told
	item, err := store.For(s, "acme").Get(t.Context(), recommendation.ToldKey(dismissed.ID), &one)
	errtest.Must(t, err)
	if item.Version != 4 {
		t.Errorf("certify-integration was written %d times, want once for each of 4 openings and endings", item.Version)
	}
}

// TestProjector_Tell_Many checks that more openings than the commit of a context may hold are all stored.
func TestProjector_Tell_Many(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	at := time.Now().UTC().Truncate(time.Minute).AddDate(0, 0, -20)
	const n = 45
	var changes []store.Change
	for i := range n {
		name := "feed-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		c := put("acme", 10+i, integration.Entity, integration.Key(name), integration.Integration{
			Provider: name, Kind: "feed", State: integration.Sandbox, Enabled: true, Permissions: []integration.Port{integration.SyncPull}, CreatedAt: at, UpdatedAt: at,
		})
		c.At = at
		changes = append(changes, c)
	}
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: changes}))
	open := 0
	for item, err := range store.For(s, "acme").Items(t.Context(), store.Query{Prefix: recommendation.ToldPrefix}) {
		errtest.Must(t, err)
		var one recommendation.Told
		errtest.Must(t, item.Decode(&one))
		if one.Rule == "certify-integration" {
			open++
		}
	}
	if open != n {
		t.Errorf("%d recommendations were told, want %d", open, n)
	}
}
