package projector

import (
	"context"
	"errors"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// maxTurns limits the recommendations that one commit settles. A further one is settled with a later change.
const maxTurns = 20

// turning holds a turn of a recommendation, and the facts with which it came.
type turning struct {
	assessment.Turn
	facts projection.Context
}

// fold folds changes, and returns the contexts before and after each part of them: an item that a user or a provider changes
// as a whole is a part of its own, and the frequent changes in between, such as those of deliveries, are one. So what follows
// for recommendations does not depend on how such changes are split into batches.
func fold(was projection.Context, changes []store.Change) (steps []projection.Context, entries []timeline.Entry, failures projection.Failures) {
	steps = append(steps, was)
	for len(changes) > 0 {
		n := 0
		for n < len(changes) && !alone(changes[n]) {
			n++
		}
		n = max(n, 1)
		next, told, failed := projection.Fold(steps[len(steps)-1], changes[:n])
		steps, entries, failures = append(steps, next), append(entries, told...), append(failures, failed...)
		changes = changes[n:]
	}
	return steps, entries, failures
}

// turnings lists what each step from one context to the next means for recommendations, and which of them have opened or closed with
// all of the steps.
func turnings(contexts []projection.Context) (all []turning, told []recommendation.Told) {
	var first, last assessment.Step
	for n := 1; n < len(contexts); n++ {
		last = assessment.Compare(contexts[n-1], contexts[n])
		if n == 1 {
			first = last
		}
		for _, t := range last.Turns() {
			all = append(all, turning{t, contexts[n]})
		}
	}
	return all, assessment.Told(first, last)
}

func alone(c store.Change) bool {
	switch c.Entity {
	case approval.Entity, policy.StoredEntity, projection.CompanyEntity, goal.Entity, integration.Entity, syncrun.Entity:
		return true
	}
	return false
}

// settle returns the writes that store which recommendations have ended, or hold again.
func settle(ctx context.Context, c store.Company, turns []turning) ([]store.Op, error) {
	stored, versions, order := map[string]recommendation.Stored{}, map[string]int64{}, []string{}
	changed := map[string]bool{}
	for _, turn := range turns {
		key := recommendation.Key(turn.ID)
		if _, read := stored[key]; !read {
			if len(order) == maxTurns {
				continue
			}
			var s recommendation.Stored
			item, err := c.Get(ctx, key, &s)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			stored[key], versions[key], order = s, item.Version, append(order, key)
		}
		if next, ok := turn.Next(stored[key], turn.facts); ok {
			stored[key], changed[key] = next, true
		}
	}
	var ops []store.Op
	for _, key := range order {
		if !changed[key] {
			continue
		}
		op := c.Save(key, recommendation.Entity, versions[key], stored[key])
		if at, ends := stored[key].Expires(); ends {
			op = op.Until(at)
		}
		ops = append(ops, op)
	}
	return ops, nil
}
