package assessment

import (
	"fmt"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
)

// Paths, below the company's, of what counts: the listings also hold what deleted integrations imported.
const (
	currentGoals  = "/goals?integration=current"
	openGoals     = "/goals?integration=current&state=open"
	currentMemory = "/memory?integration=current"
)

// reviewGoals has no operation, because a goal changes at its provider.
func reviewGoals(v view) []Recommendation {
	var found []Recommendation
	for _, g := range v.Goals.Listed {
		if g.Status == goal.Aligned || v.explained(g.ID) {
			continue
		}
		r := Recommendation{
			Title: fmt.Sprintf("Review %q", g.Title), Priority: recommendation.P3, FirstSeenAt: g.Since, Subject: timeline.Reference{Type: "goal", ID: g.ID},
			Rationale: fmt.Sprintf("The goal is %s: %s.", g.Status, g.Reason),
			Evidence:  []Evidence{{Name: "progress", Value: round(100 * g.Progress), Unit: "%", At: g.Since, Href: v.href("/goals/" + g.ID)}},
		}
		if g.Status == goal.Misaligned {
			r.Priority = recommendation.P2
		}
		found = append(found, r)
	}
	return found
}

func closeGoals(v view) []Recommendation {
	var found []Recommendation
	for _, g := range v.Goals.Listed {
		if g.Progress < 1 {
			continue
		}
		found = append(found, Recommendation{
			Title: fmt.Sprintf("Close %q", g.Title), Priority: recommendation.P4, FirstSeenAt: g.Since, Subject: timeline.Reference{Type: "goal", ID: g.ID},
			Rationale: "The goal is done but still open at its provider. Close it there.",
			Evidence:  []Evidence{{Name: "progress", Value: round(100 * g.Progress), Unit: "%", At: g.Since, Href: v.href("/goals/" + g.ID)}},
		})
	}
	return found
}

func dateGoals(v view) []Recommendation {
	undated, first := 0, v.asOf
	for _, g := range v.Goals.Listed {
		if g.DueAt.IsZero() && g.Progress < 1 {
			undated++
			if g.Since.Before(first) {
				first = g.Since
			}
		}
	}
	if undated == 0 {
		return nil
	}
	return []Recommendation{{
		Title: "Give every goal a due date", Priority: recommendation.P4, FirstSeenAt: first, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		Rationale: fmt.Sprintf("%s no due date, so alignment cannot be judged. Set the date at the provider.", phrase.Plural(undated, "open goal has", "open goals have")),
		Evidence:  []Evidence{{Name: "goals without a due date", Value: float64(undated), Unit: "goals", Href: v.href(openGoals)}},
	}}
}
