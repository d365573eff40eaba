package projector_test

import (
	"encoding/json"
	"testing"
	"time"

	"orgops/functions/projector"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// feedChange returns a change of the company's feed.
func feedChange(n int, from, to *integration.Integration) store.Change {
	c := put("acme", n, integration.Entity, integration.Key("feed"), to)
	if to == nil {
		c.New = nil
	}
	if from != nil {
		raw, err := json.Marshal(from)
		if err != nil {
			panic(err)
		}
		c.Old = &store.Image{Version: 1, Body: raw}
	}
	return c
}

// settled folds a change, and the changes of recommendations that follow, as the feed would pass them on.
func settled(t *testing.T, p *projector.Projector, s store.Store, c store.Change, recommendationID string) recommendation.Stored {
	t.Helper()
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: []store.Change{c}}))
	var stored recommendation.Stored
	item, err := store.For(s, "acme").Get(t.Context(), recommendation.Key(recommendationID), &stored)
	errtest.Must(t, err)
	follow := put("acme", 0, recommendation.Entity, item.Key, stored)
	follow.Sequence, follow.New.Version = c.Sequence[:1]+"5", item.Version
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: []store.Change{follow}}))
	return stored
}

// TestProjector_Settle stores that a recommendation has succeeded when its condition ends, opens it again when the condition
// holds again, and counts how often.
func TestProjector_Settle(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	source := recommendation.ID("connect-source", timeline.Reference{Type: "company", ID: "acme"})
	at := time.Now().UTC()
	is := &integration.Integration{
		Provider: "feed", Kind: "feed", State: integration.Sandbox, Enabled: true, Permissions: []integration.Port{integration.SyncPull}, CreatedAt: at, UpdatedAt: at,
	}
	steps := []struct {
		name     string
		change   store.Change
		want     recommendation.State
		reopened int
	}{
		{"connected", feedChange(10, nil, is), recommendation.Succeeded, 0},
		{"deleted", feedChange(20, is, nil), recommendation.Active, 1},
		{"connected again", feedChange(30, nil, is), recommendation.Succeeded, 1},
		{"deleted again", feedChange(40, is, nil), recommendation.Active, 2},
	}
	for _, step := range steps {
		got := settled(t, p, s, step.change, source)
		if got.State != step.want {
			t.Errorf("%s: state = %s, want %s", step.name, got.State, step.want)
		}
		if got.Reopened != step.reopened {
			t.Errorf("%s: reopened = %d, want %d", step.name, got.Reopened, step.reopened)
		}
		if got.Rule != "connect-source" {
			t.Errorf("%s: rule = %q, want connect-source", step.name, got.Rule)
		}
	}
}
