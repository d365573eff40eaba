package projection

import (
	"slices"
	"time"
)

// Result holds the outcomes of a provider's deliveries and live syncs. They are kept apart from its integration, because
// the integration's change may come after theirs.
type Result struct {
	LastSuccessAt time.Time `json:"lastSuccessAt,omitzero" doc:"last delivery or sync that worked"`
	LastFailureAt time.Time `json:"lastFailureAt,omitzero" doc:"last delivery attempt or sync that failed"`
	Failures      []Spell   `json:"failures,omitempty" doc:"failures since the last success, in steps of 8 hours, oldest first; the newest 16 steps with failures"`
}

// Spell holds the failures of a step. If the last success lies in the same step, First is Last.
type Spell struct {
	First time.Time `json:"first" doc:"first failure in the step"`
	Last  time.Time `json:"last" doc:"last failure in the step"`
}

// outcome records in a provider's result whether a delivery or a sync succeeded.
func (f *folding) outcome(provider string, when time.Time, worked bool) {
	r := f.Results[provider]
	if worked {
		r.LastSuccessAt = later(r.LastSuccessAt, when)
	} else {
		r.LastFailureAt = later(r.LastFailureAt, when)
		r.Failures = addFailure(r.Failures, when)
	}
	r.Failures = since(r.Failures, r.LastSuccessAt)
	f.Results[provider] = r
	f.judge(provider)
}

// judge takes over a provider's result in its integration. Outcomes from before the integration was created belong to an
// integration that was deleted.
func (f *folding) judge(provider string) {
	i, ok := f.Integrations[provider]
	if !ok {
		return
	}
	r := f.Results[provider]
	i.LastSuccessAt, i.LastFailureAt = notBefore(i.CreatedAt, r.LastSuccessAt), notBefore(i.CreatedAt, r.LastFailureAt)
	i.FailingSince = r.failingSince(i.ChangedAt)
	f.Integrations[provider] = i
}

// failingSince returns the first failure since the last success and since a change, zero without failures. If the failures
// began within 8 hours of that success or change, and in the same step, it may return the time of the success or change.
func (r Result) failingSince(changed time.Time) time.Time {
	for _, s := range r.Failures {
		if s.Last.Before(changed) { // it says nothing about the integration as it is now
			continue
		}
		first := s.First
		if sameStep(s.Last, r.LastSuccessAt) {
			first = r.LastSuccessAt
		}
		return later(first, changed)
	}
	return time.Time{}
}

// notBefore returns t, or the zero time if t is before first.
func notBefore(first, t time.Time) time.Time {
	if t.Before(first) {
		return time.Time{}
	}
	return t
}

// failureStep sets the length of a spell's step.
const failureStep = 8 * time.Hour

func sameStep(a, b time.Time) bool { return a.Truncate(failureStep).Equal(b.Truncate(failureStep)) }

// addFailure adds a failure to the spell of its step. It never changes its argument.
func addFailure(all []Spell, at time.Time) []Spell {
	all = slices.Clone(all)
	i, found := slices.BinarySearchFunc(all, at.Truncate(failureStep), func(s Spell, step time.Time) int {
		return s.Last.Truncate(failureStep).Compare(step)
	})
	if !found {
		return newest(slices.Insert(all, i, Spell{at, at}), maxSpells)
	}
	all[i].Last = later(all[i].Last, at)
	if at.Before(all[i].First) {
		all[i].First = at
	}
	return all
}

// since drops the failures up to a success. Of the step in which the success lies, only the last failure is known to be
// later. It never changes its argument.
func since(all []Spell, success time.Time) []Spell {
	i := 0
	for i < len(all) && !all[i].Last.After(success) {
		i++
	}
	all = newest(all, len(all)-i)
	if len(all) > 0 && sameStep(all[0].Last, success) {
		all = slices.Clone(all)
		all[0].First = all[0].Last
	}
	return all
}

// newest returns the last n elements, nil for none.
func newest[T any](all []T, n int) []T {
	if n <= 0 {
		return nil
	}
	return all[max(len(all)-n, 0):]
}

func (r Result) changedAt() time.Time { return later(r.LastSuccessAt, r.LastFailureAt) }
