package assessment

import (
	"fmt"
	"slices"
	"strings"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
)

func (v view) goalSentences() []Sentence {
	g := v.Goals
	if g.Open+g.Closed == 0 {
		return []Sentence{}
	}
	text := counted(phrase.Plural(g.Open, "open goal", "open goals")+": ", count{g.Aligned, "aligned"}, count{g.Drifting, "drifting"}, count{g.Misaligned, "misaligned"})
	if g.Open == 0 {
		text = "No goal is open"
	}
	if g.Closed > 0 {
		text += fmt.Sprintf("; %d closed", g.Closed)
	}
	found := []Sentence{{Text: text + ".", Severity: Info, Evidence: []string{v.href(currentGoals)}}}
	for _, listed := range g.Listed {
		if listed.Status == goal.Aligned {
			continue
		}
		s := Sentence{
			Text:     fmt.Sprintf("%q is %s: %s.", listed.Title, listed.Status, listed.Reason),
			Severity: Low, Subject: &timeline.Reference{Type: "goal", ID: listed.ID}, Evidence: []string{v.href("/goals/" + listed.ID)},
		}
		if listed.Status == goal.Misaligned {
			s.Severity = Medium
		}
		if v.explained(listed.ID) {
			s.Text, s.Severity = fmt.Sprintf("%q is %s, which is explained.", listed.Title, listed.Status), Info
			s.Evidence = append(s.Evidence, v.href("/goals/"+listed.ID+"/explanation"))
		}
		found = append(found, s)
	}
	return atMost(maxListed, found, v.more(openGoals))
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
	text := counted(phrase.Plural(len(v.providers), "integration", "integrations")+": ",
		count{certified, "certified"}, count{sandboxed, "in the sandbox"}, count{off, "disabled"})
	found := []Sentence{{Text: text + ".", Severity: Info, Evidence: []string{v.href("/integrations")}}}
	for _, p := range v.providers {
		if isEndpoint(v.Integrations[p]) {
			found = append(found, v.endpointSentence(p))
		}
	}
	found = append(found, v.sourceSentences()...)
	return atMost(maxListed, found, v.more("/integrations"))
}

// sourceSentences tells of each kind of source which was synced longest ago, the kind with the oldest one first.
func (v view) sourceSentences() []Sentence {
	byKind, kinds := map[string][]string{}, []string{}
	for _, p := range v.providers {
		if i := v.Integrations[p]; i.Has(integration.SyncPull) && !v.Syncs[p].LastSucceededAt.IsZero() {
			if len(byKind[i.Kind]) == 0 {
				kinds = append(kinds, i.Kind)
			}
			byKind[i.Kind] = append(byKind[i.Kind], p)
		}
	}
	older := func(a, b string) int { return v.Syncs[a].LastSucceededAt.Compare(v.Syncs[b].LastSucceededAt) }
	for _, kind := range kinds {
		slices.SortStableFunc(byKind[kind], older)
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return older(byKind[a][0], byKind[b][0]) })
	found := []Sentence{}
	for _, kind := range kinds {
		oldest, text := byKind[kind][0], ""
		if n := len(byKind[kind]); n > 1 {
			text = fmt.Sprintf("%d integrations of the kind %s are synced; the one of longest ago: ", n, kind)
		}
		found = append(found, Sentence{
			Text: fmt.Sprintf("%s%s was last synced %s ago.", text, v.called(oldest), phrase.Span(v.age(v.Syncs[oldest].LastSucceededAt))), Severity: Info,
			Subject: &timeline.Reference{Type: "integration", ID: oldest}, Evidence: []string{v.syncsHref(oldest)},
		})
	}
	return found
}

// endpointSentence tells how the deliveries to an endpoint go. It leaves out counts of zero.
func (v view) endpointSentence(p string) Sentence {
	e := v.Deliveries.Endpoints[p]
	n := e.Hourly.Since(v.asOf.Add(-day))
	text := v.called(p) + ": " + counted(phrase.Plural(int(n.Total()), "attempt", "attempts")+" in 24 hours, ",
		count{int(n.Failed), "failed"}, count{e.Pending, "waiting"}, count{e.Held.Total(), "held"}, count{e.Dead.Total(), "dead"})
	return Sentence{
		Text: text + ".", Severity: Info, Subject: &timeline.Reference{Type: "integration", ID: p}, Evidence: []string{v.integrationHref(p) + "/deliveries"},
	}
}

// count is a number of things of a kind.
type count struct {
	n    int
	kind string
}

// counted lists after text the counts that are not zero: "3 goals: 2 aligned, 1 drifting". Without one it leaves out the mark
// that ends the text.
func counted(text string, counts ...count) string {
	var parts []string
	for _, c := range counts {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.kind))
		}
	}
	if len(parts) == 0 {
		return strings.TrimRight(text, ":, ")
	}
	return text + strings.Join(parts, ", ")
}
