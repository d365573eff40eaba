package assessment

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"orgops/shared/domain/timeline"
)

// within returns the entries of a period, without those of weekly briefs, which only repeat others.
func within(period Period, entries []timeline.Entry) []timeline.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e timeline.Entry) bool {
		return e.At.Before(period.Since) || e.At.After(period.Until) || e.Kind == timeline.Brief
	})
}

// group holds the entries that one sentence tells, newest first.
type group struct {
	about   timeline.Reference
	entries []timeline.Entry
}

// changes tells what happened in a period, in one sentence for each entity: the entity with the latest change comes first.
func (v view) changes(period Period, entries []timeline.Entry) []Sentence {
	more := len(entries) > MaxChanges
	found := []Sentence{}
	for _, g := range grouped(entries[:min(len(entries), MaxChanges)]) {
		about := g.about
		found = append(found, Sentence{Text: g.text(period), Severity: Info, Subject: &about, Evidence: []string{v.cite(g)}})
	}
	rest := v.more("/mission-control/timeline?since=" + stamp(period.Since))
	found = atMost(maxGroups, found, rest)
	if more && len(found) <= maxGroups {
		found = append(found, Sentence{Text: "And more in the timeline.", Severity: Info, Evidence: rest(0).Evidence})
	}
	return found
}

func grouped(entries []timeline.Entry) []group {
	var groups []group
	for _, e := range entries {
		about := e.Subject
		if e.Kind == timeline.MemorySynced { // its subject is the run, of which there are many
			about = timeline.Reference{Type: "integration", ID: provider(e)}
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.about == about })
		if i < 0 {
			groups, i = append(groups, group{about: about}), len(groups)
		}
		groups[i].entries = append(groups[i].entries, e)
	}
	return groups
}

// provider returns the provider of a sync's entry.
func provider(e timeline.Entry) string {
	var d struct {
		Provider string `json:"provider"`
	}
	if json.Unmarshal(e.Details, &d) != nil || d.Provider == "" {
		return e.Actor.ID
	}
	return d.Provider
}

// text tells what happened to an entity.
func (g group) text(period Period) string {
	newest := g.entries[0]
	text := upper(newest.Title)
	if g.about.Type == "integration" {
		text = g.about.ID + ": " + g.steps()
	} else if n := len(g.entries); n > 1 {
		text += fmt.Sprintf(", the last of %d changes", n)
	}
	if period.Until.Sub(period.Since) > day+time.Hour {
		text += newest.At.UTC().Format(" (2 January)")
	}
	return strings.TrimSuffix(text, ".") + "."
}

// steps lists what happened to an integration, the earliest first: "configured, certified and synced 3 times".
func (g group) steps() string {
	var words []string
	times := map[string]int{}
	for _, e := range slices.Backward(g.entries) {
		word := stepOf(e)
		if times[word]++; times[word] == 1 {
			words = append(words, word)
		}
	}
	for i, word := range words {
		if n := times[word]; n > 1 {
			words[i] = fmt.Sprintf("%s %d times", word, n)
		}
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}

func stepOf(e timeline.Entry) string {
	switch e.Kind {
	case timeline.IntegrationConfigured:
		if strings.HasSuffix(e.Title, "reconfigured") {
			return "reconfigured"
		}
		return "configured"
	case timeline.IntegrationCertified:
		return "certified"
	case timeline.IntegrationSandboxed:
		return "returned to the sandbox"
	case timeline.IntegrationDisabled:
		return "disabled"
	case timeline.MemorySynced:
		if strings.Contains(e.Title, " failed: ") {
			return "failed to sync"
		}
		if strings.HasSuffix(e.Title, "was cancelled") {
			return "stopped syncing"
		}
		return "synced"
	}
	return strings.TrimPrefix(strings.TrimPrefix(e.Title, e.Subject.ID+" was "), e.Subject.ID+" ")
}

func upper(s string) string {
	for i := range s {
		if i > 0 {
			return strings.ToUpper(s[:i]) + s[i:]
		}
	}
	return strings.ToUpper(s)
}

// cite returns the path that shows the entries of a group.
func (v view) cite(g group) string {
	newest, oldest := g.entries[0], g.entries[len(g.entries)-1]
	query := url.Values{"since": {stamp(oldest.At)}, "until": {stamp(newest.At)}}
	if len(g.entries) > 1 && newest.Kind != timeline.MemorySynced && oldest.Kind != timeline.MemorySynced {
		if about := g.about.Type + ":" + g.about.ID; len(about) <= timeline.MaxFilter {
			query.Set("subject", about)
		}
	}
	return v.href("/mission-control/timeline?" + query.Encode())
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
