package projection

import (
	"slices"
	"strings"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/base/wait"
	"orgops/shared/domain/arrival"
	"orgops/shared/storage/store"
)

// Result holds the outcomes of a provider's deliveries and live syncs. They are kept apart from its integration, because
// the integration's change may come after theirs.
type Result struct {
	LastSuccessAt time.Time `json:"lastSuccessAt,omitzero" doc:"last delivery or sync that worked"`
	LastFailureAt time.Time `json:"lastFailureAt,omitzero" doc:"last delivery attempt or sync that failed"`
	Failures      []Spell   `json:"failures,omitempty" doc:"failures since the last success, in steps of 8 hours, oldest first; the newest 16 steps with failures"`
	Received      Delay     `json:"received,omitzero" doc:"how long the newest memory, goal or note took from the provider's time of its last change until it was recorded"`
	Taken         Taken     `json:"taken,omitempty" doc:"arrivals received outside of the sandbox and accepted: the Unix time of the newest in milliseconds, then the counts of its hour and of up to 24 hours before, newest first" format:"int64"`
	Idle          Idle      `json:"idle,omitzero" doc:"arrivals received outside of the sandbox and accepted without effect"`
	Sent          Delay     `json:"sent,omitzero" doc:"how long the newest delivered event took, from its commit to the end of the first attempt that succeeded"`
}

// Taken counts arrivals by hour.
type Taken = arrival.Hours

// receipt counts an arrival that the provider has sent and that was accepted.
func (f *folding) receipt(c store.Change) error {
	body, err := decode[arrival.Receipt](c.New)
	if err != nil {
		return err
	}
	provider, ok := body.Accepted(c.Key)
	if !ok || counted(c) {
		return f.counted(c)
	}
	f.reach(c.At)
	r := f.Results[provider]
	r.Taken = r.Taken.Add(c.At, 1).Trim(f.UpdatedAt)
	f.Results[provider] = r
	return nil
}

// Idle counts arrivals that were accepted without effect.
type Idle struct {
	At    time.Time `json:"at" doc:"the newest"`
	Count int64     `json:"count" doc:"how many in the day before it; of many in a short time, the newest may not be counted yet" example:"3"`
	Why   string    `json:"why" doc:"the most frequent reason" example:"no rule of the mapping matches"`
}

// refusals takes over the counts of arrivals without effect. Refusals in the same item do not reach the feed by themselves.
func (f *folding) refusals(c store.Change) error {
	f.reach(c.At)
	provider := strings.TrimPrefix(c.Key, arrival.Prefix)
	var body arrival.Refusals
	if c.New != nil {
		var err error
		if body, err = decode[arrival.Refusals](c.New); err != nil {
			return err
		}
	}
	r, known := f.Results[provider]
	sum, why := body.Ineffective.Total()
	r.Idle = Idle{}
	if last := sum.Last(); !last.IsZero() {
		r.Idle = Idle{last, sum.Since(last.Add(-24 * time.Hour)), text.TruncateJSON(why, maxWhy)}
	}
	if known || r.Idle.Count > 0 {
		f.Results[provider] = r
	}
	return nil
}

// counted reports whether the receipt that a change replaces is of an accepted arrival. A repeat decides again on what took no
// effect.
func counted(c store.Change) bool {
	was, err := decode[arrival.Receipt](c.Old)
	if c.Old == nil || err != nil {
		return false
	}
	_, ok := was.Accepted(c.Key)
	return ok
}

// Delay says how long something took that began at a time.
type Delay struct {
	Of time.Time `json:"of" doc:"when it began"`
	MS int64     `json:"ms" doc:"how long it took, in milliseconds" format:"int64"`
}

// End returns when it ended.
func (d Delay) End() time.Time { return d.Of.Add(time.Duration(d.MS) * time.Millisecond) }

// took returns the delay of what began and ended at two times. Clocks differ, so the begin may seem to be later.
func took(began, ended time.Time) Delay {
	began, ended = began.UTC().Truncate(time.Millisecond), ended.UTC().Truncate(time.Millisecond)
	if began.After(ended) {
		began = ended
	}
	return Delay{began, ended.Sub(began).Milliseconds()}
}

// newer returns the delay of what began later. Of what began at the same time, it returns the shorter, which is that of the
// first end.
func (d Delay) newer(other Delay) Delay {
	if other.Of.After(d.Of) || other.Of.Equal(d.Of) && other.MS < d.MS {
		return other
	}
	return d
}

// received records how long it took from the time that the provider gives for a change to its record.
func (f *folding) received(provider string, was, is *time.Time, recorded time.Time) {
	if is == nil || was != nil && was.Equal(*is) {
		return
	}
	r := f.Results[provider]
	r.Received = r.Received.newer(took(*is, recorded))
	f.Results[provider] = r
}

// sent records how long a delivery took.
func (f *folding) sent(provider string, committed, accepted time.Time) {
	r := f.Results[provider]
	r.Sent = r.Sent.newer(took(committed, accepted))
	f.Results[provider] = r
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
		r.LastSuccessAt = wait.Later(r.LastSuccessAt, when)
	} else {
		r.LastFailureAt = wait.Later(r.LastFailureAt, when)
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
		return wait.Later(first, changed)
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
	all[i].Last = wait.Later(all[i].Last, at)
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

func (r Result) changedAt() time.Time {
	return wait.Later(wait.Later(r.LastSuccessAt, r.LastFailureAt), wait.Later(wait.Later(r.Taken.Last(), r.Idle.At), wait.Later(r.Received.Of, r.Sent.Of)))
}
