package assessment

import (
	"fmt"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Brief holds the founder's briefing. Each sentence follows from facts and names the paths that show them.
type Brief struct {
	ContextVersion int64     `json:"contextVersion" doc:"version of the company context behind the brief" example:"1284"`
	Period         Period    `json:"period" doc:"the time that the brief covers"`
	Headline       string    `json:"headline" doc:"the brief in one line" example:"Health is 92 of 100. Nothing needs attention; 3 things changed."`
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
	Items []Sentence `json:"items" doc:"its sentences, the most important first" nullable:"false"`
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

// Limits of a brief.
const (
	MaxChanges       = 20
	maxListed        = 5
	DefaultBriefSpan = day
	briefDateAndTime = "2 January 15:04"
)

// NeedsHistory reports whether the caller must read the stored timeline to get every entry since a time. The context lists
// the newest entries only.
func NeedsHistory(p projection.Context, since time.Time) bool {
	n := len(p.Timeline)
	return n >= projection.MaxTimeline && !p.Timeline[n-1].At.Before(since)
}

// BriefOf writes the brief of the period that begins at since. The caller passes the period's timeline entries, newest
// first. The brief shows the first MaxChanges and says whether there are more, so MaxChanges+1 entries are enough.
// References begin with path, the company's path.
func BriefOf(p projection.Context, asOf, since time.Time, entries []timeline.Entry, path string) Brief {
	v := look(p, asOf, path)
	health := health(v)
	until := asOf
	if p.UpdatedAt.After(until) {
		until = p.UpdatedAt // the context already includes changes of the current minute
	}
	period := Period{Since: since.UTC(), Until: until}
	changes, more := v.changes(period, entries)
	b := Brief{ContextVersion: p.ContextVersion, Period: period, Sections: []Section{
		{"attention", "Needs attention", v.attention(health)},
		{"changes", "What changed", changes},
		{"goals", "Goals", v.goalSentences()},
		{"integrations", "Integrations", v.integrationSentences()},
		{"recommendations", "Recommended next", v.nextSteps()},
	}}
	b.Headline = headline(health, b, more)
	return b
}

func headline(h HealthScore, b Brief, more bool) string {
	text := "There is no health score yet."
	if h.Score != nil {
		text = fmt.Sprintf("Health is %g of 100.", *h.Score)
	}
	attention := "nothing needs attention"
	if n := len(b.Sections[0].Items); n == 1 {
		attention = "one thing needs attention"
	} else if n > 1 {
		attention = fmt.Sprintf("%d things need attention", n)
	}
	changes := "nothing changed"
	if n := len(b.Sections[1].Items); more {
		changes = fmt.Sprintf("more than %d things changed", MaxChanges)
	} else if n > 0 {
		changes = plural(n, "thing changed", "things changed")
	}
	return fmt.Sprintf("%s Since %s UTC, %s; %s.", text, b.Period.Since.Format(briefDateAndTime), changes, attention)
}

func (v view) attention(h HealthScore) []Sentence {
	found := []Sentence{}
	for i, c := range h.Checks {
		if c.Status != Warn && c.Status != Fail {
			continue
		}
		s := Sentence{Text: c.Title + ": " + c.Reason + ".", Severity: healthRules()[i].severity, Evidence: []string{v.href("/mission-control/health")}}
		if c.Status == Warn {
			s.Severity = s.Severity.less()
		}
		for _, e := range c.Evidence {
			if e.Href != "" && len(s.Evidence) <= maxListed && e.Href != s.Evidence[len(s.Evidence)-1] {
				s.Evidence = append(s.Evidence, e.Href)
			}
		}
		found = append(found, s)
	}
	return found
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

func (v view) changes(period Period, entries []timeline.Entry) (found []Sentence, more bool) {
	found = []Sentence{}
	for _, e := range entries {
		if e.At.Before(period.Since) || e.At.After(period.Until) {
			continue
		}
		if more = len(found) == MaxChanges; more {
			break
		}
		subject := e.Subject
		found = append(found, Sentence{
			Text: e.At.UTC().Format(briefDateAndTime) + ": " + e.Title + ".", Severity: Info, Subject: &subject,
			Evidence: []string{v.href("/mission-control/timeline?since=" + stamp(e.At) + "&until=" + stamp(e.At))},
		})
	}
	if more {
		found = append(found, Sentence{
			Text: "There is more in the timeline.", Severity: Info,
			Evidence: []string{v.href("/mission-control/timeline?since=" + stamp(period.Since))},
		})
	}
	return found, more
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (v view) goalSentences() []Sentence {
	g := v.Goals
	if g.Open+g.Closed == 0 {
		return []Sentence{}
	}
	found := []Sentence{{
		Text: fmt.Sprintf("%s: %d aligned, %d drifting, %d misaligned; %d closed.", plural(g.Open, "open goal", "open goals"),
			g.Aligned, g.Drifting, g.Misaligned, g.Closed),
		Severity: Info, Evidence: []string{v.href("/goals")},
	}}
	for _, listed := range g.Listed {
		if listed.Status == goal.Aligned || len(found) > maxListed {
			break
		}
		s := Sentence{
			Text:     fmt.Sprintf("%q is %s: %s.", listed.Title, listed.Status, listed.Reason),
			Severity: Low, Subject: &timeline.Reference{Type: "goal", ID: listed.ID}, Evidence: []string{v.href("/goals/" + listed.ID)},
		}
		if listed.Status == goal.Misaligned {
			s.Severity = Medium
		}
		found = append(found, s)
	}
	return found
}

func (v view) integrationSentences() []Sentence {
	if len(v.providers) == 0 {
		return []Sentence{}
	}
	certified, sandboxed, off := 0, 0, 0
	for _, p := range v.providers {
		switch i := v.Integrations[p]; {
		case !i.Enabled:
			off++
		case i.IsCertified(v.asOf):
			certified++
		default:
			sandboxed++
		}
	}
	found := []Sentence{{
		Text: fmt.Sprintf("%s: %d certified, %d in the sandbox, %d disabled.", plural(len(v.providers), "integration", "integrations"),
			certified, sandboxed, off),
		Severity: Info, Evidence: []string{v.href("/integrations")},
	}}
	for _, p := range v.providers {
		i, e := v.Integrations[p], v.Deliveries.Endpoints[p]
		if !isEndpoint(i) {
			continue
		}
		n := e.Hourly.Since(v.asOf.Add(-day))
		text := fmt.Sprintf("%s: %s in 24 hours, %d failed; %d waiting, %d held, %d dead.", p, plural(int(n.Total()), "attempt", "attempts"),
			n.Failed, e.Pending, e.Held.Total(), e.Dead.Total())
		found = append(found, Sentence{
			Text: text, Severity: Info, Subject: &timeline.Reference{Type: "integration", ID: p}, Evidence: []string{v.integrationHref(p) + "/deliveries"},
		})
	}
	for _, p := range v.providers {
		if s := v.Syncs[p]; !s.LastSucceededAt.IsZero() && v.Integrations[p].Has(integration.SyncPull) {
			found = append(found, Sentence{
				Text: fmt.Sprintf("%s was last synced %s ago.", p, span(v.age(s.LastSucceededAt))), Severity: Info,
				Subject: &timeline.Reference{Type: "integration", ID: p}, Evidence: []string{v.href("/memory/syncs/" + s.Run)},
			})
		}
	}
	return found
}

func (v view) nextSteps() []Sentence {
	found := []Sentence{}
	for _, r := range v.recommendations() {
		if len(found) == maxListed {
			break
		}
		subject := r.Subject
		found = append(found, Sentence{
			Text: r.Title + ". " + r.Rationale, Severity: r.Priority.severity(), Subject: &subject,
			Evidence: []string{v.href("/intelligence/recommendations?priority=" + string(r.Priority))},
		})
	}
	return found
}

func (p Priority) severity() Severity {
	switch p {
	case P1:
		return High
	case P2:
		return Medium
	}
	return Low
}
