package assessment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Recommendation advises a step, with its reason and the operation to call. There is at most one for each rule and subject.
type Recommendation struct {
	ID          string                  `json:"id" doc:"UUIDv8; the same rule and subject always give the same id" format:"uuid"`
	Rule        string                  `json:"rule" doc:"the rule that raised it" example:"certify-integration"`
	Title       string                  `json:"title" doc:"what to do" example:"Certify webhook"`
	Rationale   string                  `json:"rationale" doc:"the finding, and what the advised step changes"`
	Priority    recommendation.Priority `json:"priority" doc:"how soon; P1 first" enum:"P1,P2,P3,P4"`
	State       recommendation.State    `json:"state" doc:"what became of it; active and claimed are open" enum:"active,claimed,succeeded,failed,dismissed"`
	Subject     timeline.Reference      `json:"subject" doc:"what it is about"`
	Evidence    []Evidence              `json:"evidence" doc:"the facts behind it; none once its condition has ended" nullable:"false"`
	Operation   *Operation              `json:"operation,omitempty" doc:"the call that does it, ready to send; absent if it needs what only a person knows, or waits for a sync under way"`
	Claim       *Claim                  `json:"claim,omitempty" doc:"who said that they do it"`
	Dismissal   *Dismissal              `json:"dismissal,omitempty" doc:"why it need not be done for now"`
	FirstSeenAt time.Time               `json:"firstSeenAt" doc:"since when its condition holds"`
	LastSeenAt  time.Time               `json:"lastSeenAt" doc:"the last minute in which it held"`
	Reopened    int                     `json:"reopened" doc:"how often it came back after it had succeeded" format:"int32"`
	Version     int64                   `json:"version" doc:"0 until something was decided about it; If-Match takes it in quotes"`
}

// Claim says who does what a recommendation advises.
type Claim struct {
	By string    `json:"by" doc:"the user" format:"uuid"`
	At time.Time `json:"at" doc:"since when; a claim fails after 14 days, or when the matter becomes more urgent"`
}

// Dismissal says why a recommendation need not be followed for now.
type Dismissal struct {
	Reason recommendation.Reason `json:"reason" doc:"the kind of reason" enum:"not-applicable,accepted-risk,other-method,low-priority,planned,other"`
	Text   string                `json:"text" doc:"the reason in words" example:"We replace this system in May, so its secret goes with it."`
	By     string                `json:"by" doc:"the user who dismissed it" format:"uuid"`
	At     time.Time             `json:"at" doc:"when it was dismissed"`
	Until  time.Time             `json:"until" doc:"when the dismissal ends; it ends earlier if the matter becomes more urgent"`
}

// Operation describes a remedy with the body to send.
type Operation struct {
	Remedy
	Body map[string]string `json:"body,omitempty" doc:"JSON body to send"`
}

// Recommendations computes the recommendations whose condition holds, ordered by Place, with what the context knows to be
// decided about them. References begin with path, the company's path.
func Recommendations(p projection.Context, asOf time.Time, path string) []Recommendation {
	return look(p, asOf, path).recommendations()
}

// RecommendationsWith does the same with the stored decisions, and adds the recommendations whose condition has ended.
func RecommendationsWith(p projection.Context, asOf time.Time, path string, stored []recommendation.Stored) []Recommendation {
	p.Recommendations = make(map[string]recommendation.Standing, len(stored))
	for _, s := range stored {
		p.Recommendations[s.ID] = s.Standing
	}
	found := Recommendations(p, asOf, path)
	holding := make(map[string]int, len(found))
	for i, r := range found {
		holding[r.ID] = i
	}
	for _, s := range stored {
		if i, holds := holding[s.ID]; !holds {
			found = append(found, ended(s, asOf))
		} else if found[i].State == recommendation.Dismissed {
			found[i].Dismissal = &Dismissal{Reason: s.Reason, Text: s.Text, By: s.By, At: s.At, Until: s.Until}
		}
	}
	arrange(found)
	return found
}

// ended shows a stored recommendation whose condition does not hold any more.
func ended(s recommendation.Stored, asOf time.Time) Recommendation {
	r := Recommendation{
		ID: s.ID, Rule: s.Rule, Title: s.Title, Rationale: s.Rationale, Priority: s.Priority, State: recommendation.Succeeded, Subject: s.Subject,
		Evidence: []Evidence{}, FirstSeenAt: s.FirstSeenAt, LastSeenAt: s.At, Reopened: s.Reopened, Version: s.Version,
	}
	if s.State != recommendation.Succeeded { // it ended with the passing of time, or a moment ago
		r.LastSeenAt = asOf
	}
	return r
}

func (v view) recommendations() []Recommendation {
	found := v.holding()
	arrange(found)
	return found
}

// holding returns the recommendations whose condition holds, rule by rule.
func (v view) holding() []Recommendation {
	found := []Recommendation{}
	for _, advise := range advice() {
		for _, r := range advise.find(v) {
			r.Rule, r.LastSeenAt = advise.rule, v.asOf
			r.ID = recommendation.ID(advise.rule, r.Subject)
			r.FirstSeenAt = v.firstSeen(r)
			if r.Evidence == nil {
				r.Evidence = []Evidence{}
			}
			found = append(found, v.decided(r))
		}
	}
	return found
}

// firstSeen returns since when a condition holds: neither before the subject was there, nor after the time of the assessment.
// What is left of an earlier integration of the same name may be older than the integration.
func (v view) firstSeen(r Recommendation) time.Time {
	first := r.FirstSeenAt
	if i, is := v.Integrations[r.Subject.ID]; is && r.Subject.Type == "integration" && i.CreatedAt.After(first) {
		first = i.CreatedAt
	}
	if r.Subject.Type == "company" && v.Company.CreatedAt.After(first) {
		first = v.Company.CreatedAt
	}
	if first.IsZero() || first.After(v.asOf) {
		return v.asOf
	}
	return first
}

// decided sets what was decided about a recommendation whose condition holds.
func (v view) decided(r Recommendation) Recommendation {
	s := standing(v.Context, r.Subject, v.Recommendations[r.ID])
	r.State, r.Reopened, r.Version = s.Now(r.Priority, v.asOf), s.Times(), s.Version
	if s.State == recommendation.Claimed {
		r.Claim = &Claim{By: s.By, At: s.At}
	}
	return r
}

// standing returns what was decided about a recommendation, and only the version if that was about a former integration of the same name.
func standing(p projection.Context, subject timeline.Reference, s recommendation.Standing) recommendation.Standing {
	if i, is := p.Integrations[subject.ID]; is && subject.Type == integration.Entity && s.At.Before(i.CreatedAt) {
		return recommendation.Standing{Version: s.Version}
	}
	return s
}

// Open reports whether a recommendation is active or claimed.
func (r Recommendation) Open() bool {
	return r.State.Open()
}

// open returns the open recommendations.
func (v view) open() []Recommendation {
	return slices.DeleteFunc(v.recommendations(), func(r Recommendation) bool { return !r.Open() })
}

// arrange sorts recommendations by Place.
func arrange(all []Recommendation) {
	places := make(map[string]string, len(all))
	for _, r := range all {
		places[r.ID] = r.Place()
	}
	slices.SortFunc(all, func(a, b Recommendation) int { return strings.Compare(places[a.ID], places[b.ID]) })
}

// Place returns the sort key of a recommendation. It sorts by priority (the most urgent first), by the order of the rules,
// by age (the oldest first) and by subject.
func (r Recommendation) Place() string {
	rule := slices.IndexFunc(advice(), func(a advise) bool { return a.rule == r.Rule })
	return fmt.Sprintf("%s#%03d#%s#%s", r.Priority, rule, r.FirstSeenAt.UTC().Format("2006-01-02T15:04:05.000000000Z"), r.Subject.ID)
}

// Stored returns the recommendation as it is stored, before a decision.
func (r Recommendation) Stored() recommendation.Stored {
	return recommendation.Stored{
		Standing: recommendation.Standing{State: recommendation.Active, Priority: r.Priority, Reopened: r.Reopened},
		ID:       r.ID, Rule: r.Rule, Title: r.Title, Rationale: r.Rationale, Subject: r.Subject, FirstSeenAt: r.FirstSeenAt,
	}
}
