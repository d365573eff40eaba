package assessment

import (
	"context"
	"slices"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/recommendation"
	"orgops/shared/storage/store"
)

// Found holds a recommendation as computed, and as a decision would store it.
type Found struct {
	Shown   Recommendation
	Current recommendation.Current

	facts Facts
	path  string
}

// Find returns the recommendation with an id: its condition holds now, or it is stored. Its references begin with path, the
// company's path. For any other id Find returns fault.NotFound.
func (r *Reader) Find(ctx context.Context, c store.Company, path, recommendationID string) (Found, error) {
	facts, err := r.Read(ctx, c)
	if err != nil {
		return Found{}, store.Fault(err, "")
	}
	f := Found{facts: facts, path: path}
	var stored []recommendation.Stored
	if id.Valid(recommendationID) { // a query, because it finds nothing without an error
		if stored, err = StoredRecommendations(ctx, c, recommendation.Key(recommendationID)); err != nil {
			return Found{}, err
		}
		stored = slices.DeleteFunc(stored, func(s recommendation.Stored) bool { return s.ID != recommendationID })
	}
	if !f.show(recommendationID, stored) {
		return Found{}, fault.New(fault.NotFound, "there is no recommendation with this id")
	}
	f.Current = recommendation.Current{Stored: f.Shown.Stored(), Priority: f.Shown.Priority, Ended: f.Shown.State == recommendation.Succeeded}
	if len(stored) > 0 {
		f.Current.Standing = standing(facts.Context, f.Shown.Subject, stored[0].Standing)
	}
	return f, nil
}

// FindCurrent returns a recommendation as Find does, for a decision about it.
func (r *Reader) FindCurrent(ctx context.Context, c store.Company, recommendationID string) (recommendation.Current, error) {
	f, err := r.Find(ctx, c, "", recommendationID)
	return f.Current, err
}

// show computes what the facts and the stored decision show; ok is false if there is no recommendation with the id.
func (f *Found) show(recommendationID string, stored []recommendation.Stored) (ok bool) {
	all := RecommendationsWith(f.facts.Context, f.facts.AsOf, f.path, stored)
	i := slices.IndexFunc(all, func(r Recommendation) bool { return r.ID == recommendationID })
	if i >= 0 {
		f.Shown = all[i]
	}
	return i >= 0
}

// Decided returns the recommendation after a decision that was stored.
func (f Found) Decided(s recommendation.Stored) Found {
	f.Current.Stored = s
	f.show(s.ID, []recommendation.Stored{s})
	return f
}

// StoredRecommendations returns the stored decisions whose keys begin with a prefix. Their number is bounded by rules and
// subjects. The context knows them too, but a moment later.
func StoredRecommendations(ctx context.Context, c store.Company, prefix string) ([]recommendation.Stored, error) {
	var stored []recommendation.Stored
	for item, err := range c.Items(ctx, store.Query{Prefix: prefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		var s recommendation.Stored
		if err := item.Decode(&s); err != nil {
			return nil, err
		}
		s.Version = item.Version
		stored = append(stored, s)
	}
	return stored, nil
}
