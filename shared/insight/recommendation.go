package insight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/id"
	"orgops/shared/projection"
	"orgops/shared/timeline"
)

// RecommendationPrefix is the prefix of the keys of what a person or an ending did to recommendations.
const RecommendationPrefix = "RECOMMENDATION#"

// Priority says how soon.
type Priority string

// The priorities, the most pressing first.
const (
	P1 Priority = "P1"
	P2 Priority = "P2"
	P3 Priority = "P3"
	P4 Priority = "P4"
)

// RecommendationState is where a recommendation stands. Open is active or claimed.
type RecommendationState string

// The states.
const (
	Active    RecommendationState = "active"
	Claimed   RecommendationState = "claimed"
	Succeeded RecommendationState = "succeeded"
	Failed    RecommendationState = "failed"
	Dismissed RecommendationState = "dismissed"
)

// Recommendation is something worth doing, with why and how. One exists for each rule and subject.
type Recommendation struct {
	ID          string              `json:"id" doc:"UUIDv8 that follows from rule and subject"`
	Rule        string              `json:"rule" doc:"the rule that raised it" example:"certify-integration"`
	Title       string              `json:"title" doc:"what to do" example:"Certify webhook"`
	Rationale   string              `json:"rationale" doc:"what was seen, and what doing it changes"`
	Priority    Priority            `json:"priority" doc:"how soon; P1 first" enum:"P1,P2,P3,P4"`
	State       RecommendationState `json:"state" doc:"where it stands; active and claimed are open" enum:"active,claimed,succeeded,failed,dismissed"`
	Subject     timeline.Reference  `json:"subject" doc:"what it is about"`
	Evidence    []Evidence          `json:"evidence" doc:"the facts that it rests on" nullable:"false"`
	Operation   *Operation          `json:"operation,omitempty" doc:"the call that does it, where there is one"`
	FirstSeenAt time.Time           `json:"firstSeenAt" doc:"since when its condition holds"`
	LastSeenAt  time.Time           `json:"lastSeenAt" doc:"the last minute in which it held"`
	Reopened    int                 `json:"reopened" doc:"how often it came back after it had succeeded"`
	Version     int64               `json:"version" doc:"0 while nobody has done anything to it"`
}

// Operation is a remedy with the body to send.
type Operation struct {
	Remedy
	Body map[string]string `json:"body,omitempty" doc:"what to send"`
}

// Stored is what a person or an ending did to a recommendation.
type Stored struct {
	ID       string              `json:"id"`
	State    RecommendationState `json:"state"`
	Reopened int                 `json:"reopened"`
	Version  int64               `json:"-"` // the item's
}

// Recommendations computes what is recommended, ordered by Place. path is the company's, with which references begin.
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

// Place is text that sorts as recommendations do: the most pressing first, then in the order of the rules, then the longest
// known, then by subject.
func (r Recommendation) Place() string {
	rule := slices.IndexFunc(advice(), func(a advise) bool { return a.rule == r.Rule })
	return fmt.Sprintf("%s#%02d#%s#%s", r.Priority, rule, r.FirstSeenAt.UTC().Format("2006-01-02T15:04:05.000000000Z"), r.Subject.ID)
}

// Merge lays what is stored over what is computed. Whether a condition holds comes from the computation alone: a
// recommendation that had succeeded and is computed again is active again, reopened once more.
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
