package assessment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// RecommendationPrefix starts the keys of the stored states of recommendations.
const RecommendationPrefix = "RECOMMENDATION#"

// Priority says how urgent a recommendation is.
type Priority string

// The priorities, the most urgent first.
const (
	P1 Priority = "P1"
	P2 Priority = "P2"
	P3 Priority = "P3"
	P4 Priority = "P4"
)

// RecommendationState says whether a recommendation is open (active or claimed) or how it ended.
type RecommendationState string

// The states.
const (
	Active    RecommendationState = "active"
	Claimed   RecommendationState = "claimed"
	Succeeded RecommendationState = "succeeded"
	Failed    RecommendationState = "failed"
	Dismissed RecommendationState = "dismissed"
)

// Recommendation advises a step, with its reason and the operation to call. There is at most one for each rule and subject.
type Recommendation struct {
	ID          string              `json:"id" doc:"UUIDv8; the same rule and subject always give the same id"`
	Rule        string              `json:"rule" doc:"the rule that raised it" example:"certify-integration"`
	Title       string              `json:"title" doc:"what to do" example:"Certify webhook"`
	Rationale   string              `json:"rationale" doc:"the finding, and what the advised step changes"`
	Priority    Priority            `json:"priority" doc:"how soon; P1 first" enum:"P1,P2,P3,P4"`
	State       RecommendationState `json:"state" doc:"what became of it; active and claimed are open" enum:"active,claimed,succeeded,failed,dismissed"`
	Subject     timeline.Reference  `json:"subject" doc:"what it is about"`
	Evidence    []Evidence          `json:"evidence" doc:"the facts behind it" nullable:"false"`
	Operation   *Operation          `json:"operation,omitempty" doc:"the call that does it, ready to send; absent if it needs what only a person knows, or waits for a sync under way"`
	FirstSeenAt time.Time           `json:"firstSeenAt" doc:"since when its condition holds"`
	LastSeenAt  time.Time           `json:"lastSeenAt" doc:"the last minute in which it held"`
	Reopened    int                 `json:"reopened" doc:"how often it came back after it had succeeded" format:"int32"`
	Version     int64               `json:"version" doc:"0 until its state is first stored"`
}

// Operation describes a remedy with the body to send.
type Operation struct {
	Remedy
	Body map[string]string `json:"body,omitempty" doc:"JSON body to send"`
}

// Stored keeps the state of a recommendation after a user changed it or its condition ended.
type Stored struct {
	ID       string              `json:"id"`
	State    RecommendationState `json:"state"`
	Reopened int                 `json:"reopened"`
	Version  int64               `json:"-"` // of the stored item
}

// Recommendations computes the recommendations, ordered by Place. References begin with path, the company's path.
func Recommendations(p projection.Context, asOf time.Time, path string) []Recommendation {
	return look(p, asOf, path).recommendations()
}

func (v view) recommendations() []Recommendation {
	found := []Recommendation{}
	for _, advise := range advice() {
		for _, r := range advise.find(v) {
			r.Rule, r.State, r.LastSeenAt = advise.rule, Active, v.asOf
			r.ID = id.Of("recommendation", advise.rule, r.Subject.Type, r.Subject.ID)
			if r.FirstSeenAt.IsZero() || r.FirstSeenAt.After(v.asOf) {
				r.FirstSeenAt = v.asOf
			}
			if r.Evidence == nil {
				r.Evidence = []Evidence{}
			}
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Recommendation) int { return strings.Compare(a.Place(), b.Place()) })
	return found
}

// Place returns the sort key of a recommendation. It sorts by priority (the most urgent first), by the order of the rules,
// by age (the oldest first) and by subject.
func (r Recommendation) Place() string {
	rule := slices.IndexFunc(advice(), func(a advise) bool { return a.rule == r.Rule })
	return fmt.Sprintf("%s#%02d#%s#%s", r.Priority, rule, r.FirstSeenAt.UTC().Format("2006-01-02T15:04:05.000000000Z"), r.Subject.ID)
}

// Merge applies the stored states to the computed recommendations. A recommendation that is stored as succeeded and
// computed again has a condition that holds again: Merge makes it active and increments Reopened.
func Merge(computed []Recommendation, stored []Stored) []Recommendation {
	known := make(map[string]Stored, len(stored))
	for _, s := range stored {
		known[s.ID] = s
	}
	merged := slices.Clone(computed)
	for i, r := range merged {
		s, ok := known[r.ID]
		if !ok {
			continue
		}
		r.State, r.Reopened, r.Version = s.State, s.Reopened, s.Version
		if s.State == Succeeded {
			r.State, r.Reopened = Active, s.Reopened+1
		}
		merged[i] = r
	}
	return merged
}
