package assessment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Brief holds the founder's briefing. Each sentence follows from facts and names the paths that show them.
type Brief struct {
	ContextVersion int64     `json:"contextVersion" doc:"version of the company context behind the brief" example:"1284"`
	Period         Period    `json:"period" doc:"the time that the brief covers"`
	Headline       string    `json:"headline" doc:"the brief in one line" example:"Health is 92 of 100. Since 2 March, 3 things changed; nothing needs attention."`
	Sections       []Section `json:"sections" nullable:"false" doc:"the same five sections, always in this order"`
}

// Period bounds the time that a brief covers.
type Period struct {
	Since time.Time `json:"since" doc:"start of the period"`
	Until time.Time `json:"until" doc:"end of the period: the request's minute, or the time of the last change if that is later"`
}

// Section groups the sentences of one part of a brief.
type Section struct {
	ID    string     `json:"id" doc:"stable name of the section" enum:"attention,changes,goals,integrations,recommendations"`
	Title string     `json:"title" doc:"heading" example:"Needs attention"`
	Items []Sentence `json:"items" doc:"its sentences, the most important first; the last may say how many more there are" nullable:"false"`
}

// Sentence makes one statement of a brief.
type Sentence struct {
	Text     string              `json:"text" doc:"the statement" example:"Dead letters: 3 deliveries used up all attempts."`
	Severity Severity            `json:"severity" doc:"how much the statement matters; info needs no action" enum:"critical,high,medium,low,info"`
	Subject  *timeline.Reference `json:"subject,omitempty" doc:"the one entity that the statement is about; absent if there are several"`
	Evidence []string            `json:"evidence" nullable:"false" minItems:"1" doc:"paths in the API that show the facts behind the statement"`
}

// Info marks statements that need no action.
const Info Severity = "info"

// Limits of a brief, which fits one screen.
const (
	MaxChanges       = 50 // entries of the timeline that it takes into account
	maxGroups        = 8  // of changes
	maxListed        = 5  // sentences of another section
	maxCited         = 5  // paths of a sentence
	DefaultBriefSpan = day
)

// BriefOf writes the brief of the period that begins at since. The caller passes the period's timeline entries, newest
// first. The brief takes the first MaxChanges into account and says whether there are more, so MaxChanges+1 entries are
// enough. References begin with path, the company's path.
func BriefOf(p projection.Context, asOf, since time.Time, entries []timeline.Entry, path string) Brief {
	v := look(p, asOf, path)
	health := health(v)
	until := asOf
	if p.UpdatedAt.After(until) {
		until = p.UpdatedAt // the context already includes changes of the current minute
	}
	period := Period{Since: since.UTC(), Until: until}
	changed := within(period, entries)
	attention := v.attention(health)
	b := Brief{ContextVersion: p.ContextVersion, Period: period, Headline: headline(health, period, len(changed), attention), Sections: []Section{
		{"attention", "Needs attention", atMost(maxListed, sentences(attention), v.more("/mission-control/dashboard"))},
		{"changes", "What changed", v.changes(period, changed)},
		{"goals", "Goals", v.goalSentences()},
		{"integrations", "Integrations", v.integrationSentences()},
		{"recommendations", "Recommended next", v.nextSteps()},
	}}
	return b
}

// Quiet reports whether nothing has changed in the period.
func (b Brief) Quiet() bool {
	at := slices.IndexFunc(b.Sections, func(s Section) bool { return s.ID == "changes" })
	return len(b.Sections[at].Items) == 0
}

func headline(h HealthScore, period Period, changed int, attention []Need) string {
	changes := phrase.Plural(changed, "thing changed", "things changed")
	switch {
	case changed > MaxChanges:
		changes = fmt.Sprintf("more than %d things changed", MaxChanges)
	case changed == 0:
		changes = "nothing changed"
	}
	return fmt.Sprintf("%s Since %s, %s; %s.", h.sentence(), period.begin(), changes, needing(attention))
}

// sentence tells the score. It says so if a cap lowers it.
func (h HealthScore) sentence() string {
	switch {
	case h.Score == nil:
		return "There is no health score yet."
	case h.Cap != nil:
		return fmt.Sprintf("Health is %g of 100, capped at %g because a critical check fails: %s.", *h.Score, h.Cap.At, strings.Join(h.Cap.Because, ", "))
	}
	return fmt.Sprintf("Health is %g of 100.", *h.Score)
}

// needing counts what needs attention, and names the worst.
func needing(attention []Need) string {
	switch len(attention) {
	case 0:
		return "nothing needs attention"
	case 1:
		return "one thing needs attention: " + attention[0].name()
	}
	return fmt.Sprintf("%d things need attention, first: %s", len(attention), attention[0].name())
}

// begin formats the start of the period: the date, or the time of day in a shorter period.
func (p Period) begin() string {
	if p.Until.Sub(p.Since) < day {
		return p.Since.Format("15:04 UTC")
	}
	if p.Since.Year() != p.Until.Year() {
		return p.Since.Format("2 January 2006")
	}
	return p.Since.Format("2 January")
}

// atMost returns the first n sentences, and a last one with the number of the others.
func atMost(n int, all []Sentence, more func(int) Sentence) []Sentence {
	if len(all) <= n {
		return all
	}
	return append(all[:n:n], more(len(all)-n))
}

// more returns what makes the sentence that says how many more there are, with the path that shows them.
func (v view) more(path string) func(int) Sentence {
	return func(n int) Sentence {
		return Sentence{Text: fmt.Sprintf("And %d more.", n), Severity: Info, Evidence: []string{v.href(path)}}
	}
}

// less returns the severity of a warning for a check whose failure has severity s.
func (s Severity) less() Severity {
	switch s {
	case Critical:
		return High
	case High:
		return Medium
	}
	return Low
}

func (v view) nextSteps() []Sentence {
	found := []Sentence{}
	for _, r := range v.recommendations() {
		if r.State == recommendation.Dismissed {
			continue
		}
		text := r.Title + ". " + r.Rationale
		switch r.State {
		case recommendation.Claimed:
			text = "Claimed: " + text
		case recommendation.Failed:
			text = "Claimed, but not done: " + text
		}
		subject := r.Subject
		found = append(found, Sentence{
			Text: text, Severity: severityOf(r.Priority), Subject: &subject, Evidence: []string{v.href("/intelligence/recommendations/" + r.ID)},
		})
	}
	return atMost(maxListed, found, v.more("/intelligence/recommendations"))
}

func severityOf(p recommendation.Priority) Severity {
	switch p {
	case recommendation.P1:
		return High
	case recommendation.P2:
		return Medium
	}
	return Low
}
