package assessment

import (
	"cmp"
	"slices"
	"strings"

	"orgops/shared/base/phrase"
	"orgops/shared/base/text"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
)

// Need names one thing that needs a person.
type Need struct {
	Title string `json:"title" doc:"the thing in a few words" example:"Certify webhook"`
	Sentence
}

// maxNeedTitle limits a title in the headline, in bytes of JSON.
const maxNeedTitle = 120

// name returns the title for the middle of a sentence.
func (n Need) name() string { return strings.TrimSuffix(text.TruncateJSON(n.Title, maxNeedTitle), ".") }

func sentences(needs []Need) []Sentence {
	all := make([]Sentence, 0, len(needs))
	for _, n := range needs {
		all = append(all, n.Sentence)
	}
	return all
}

// attention lists everything that needs a person, the worst first. The brief, its headline and the dashboard show this list.
//
// It has the checks of health that fail or warn, the urgent recommendations, the approvals that wait, and the endpoints that
// fail now. A matter that several of them tell is listed once.
func (v view) attention(h HealthScore) []Need {
	told, advised := map[string]bool{}, []Need{}
	for _, r := range v.open() {
		if urgent(r) && (r.Rule != "reduce-failures" || len(h.failingCritical()) == 0) {
			told[r.Rule] = true
			advised = append(advised, v.need(r))
		}
	}
	needs := append(v.doubts(h, told), advised...)
	needs = append(needs, v.failingNow(needs)...)
	slices.SortStableFunc(needs, func(a, b Need) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	return needs
}

// urgent reports whether a recommendation needs a person soon. An approval does from its first minute, because it expires.
func urgent(r Recommendation) bool {
	return r.Priority <= recommendation.P2 || r.Rule == "answer-approval"
}

// advisedBy lists the rules whose recommendations tell the matter of a check, one for each integration that it is about.
func advisedBy(check string) []string {
	return map[string][]string{
		"delivery-delay": {"drain-backlog"}, "endpoints-disabled": {"enable-endpoint", "test-endpoint", "mend-endpoint"},
		"sync-failures": {"mend-sync", "resume-schedule"}, "dead-letters": {"replay-dead-letters"}, "secret-age": {"rotate-secret"},
		"certification-expiry": {"renew-certification"}, "unanswered-approvals": {"answer-approval"}, "credential-expiry": {"replace-credentials"},
		"credential-age": {"refresh-credentials"}, "webhook-effect": {"check-effect"},
	}[check]
}

// doubts lists the checks of health that fail or warn, without those that a recommendation tells.
func (v view) doubts(h HealthScore, told map[string]bool) []Need {
	needs := []Need{}
	for i, c := range h.Checks {
		if c.Status != Warn && c.Status != Fail || slices.ContainsFunc(advisedBy(c.ID), func(rule string) bool { return told[rule] }) {
			continue
		}
		s := Sentence{Text: c.Title + ": " + c.Reason + ".", Severity: healthRules()[i].severity, Evidence: []string{v.href("/mission-control/health")}}
		if c.Status == Warn {
			s.Severity = s.Severity.less()
		}
		for _, e := range c.Evidence {
			if e.Href != "" && len(s.Evidence) <= maxCited && e.Href != s.Evidence[len(s.Evidence)-1] {
				s.Evidence = append(s.Evidence, e.Href)
			}
		}
		needs = append(needs, Need{c.Title, s})
	}
	return needs
}

// need turns a recommendation into a sentence.
func (v view) need(r Recommendation) Need {
	subject := r.Subject
	return Need{r.Title, Sentence{
		Text: r.Title + ". " + r.Rationale, Severity: severityOf(r.Priority), Subject: &subject, Evidence: []string{v.href("/intelligence/recommendations/" + r.ID)},
	}}
}

// failingNow lists the endpoints that fail, and that no other need is about.
func (v view) failingNow(others []Need) []Need {
	var needs []Need
	for _, p := range v.providers {
		i, about := v.Integrations[p], timeline.Reference{Type: "integration", ID: p}
		known := slices.ContainsFunc(others, func(n Need) bool { return n.Subject != nil && *n.Subject == about })
		if !i.Enabled || !isEndpoint(i) || i.FailingSince.IsZero() || known {
			continue
		}
		needs = append(needs, Need{p + " fails", Sentence{
			Text: p + " fails: no delivery has reached it for " + phrase.Span(v.age(i.FailingSince)) + ".", Severity: Medium, Subject: &about,
			Evidence: []string{v.integrationHref(p) + "/deliveries"},
		}})
	}
	return needs
}

// rank orders severities, the worst first.
func (s Severity) rank() int {
	return slices.Index([]Severity{Critical, High, Medium, Low, Info}, s)
}
