package assessment

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// maxMarkdown limits a weekly brief as Markdown, in bytes of JSON. The event that carries it has at most 20,000 bytes.
const maxMarkdown = 15_000

// WeeklyEntry writes the brief of the week before asOf as an entry of the timeline. The caller passes what BriefOf needs. The
// entry's id follows from due, when the brief was due, so there is one for each week.
func WeeklyEntry(p projection.Context, asOf, due time.Time, entries []timeline.Entry, path string) (timeline.Entry, error) {
	b := BriefOf(p, asOf, asOf.Add(-timeline.Week), entries, path)
	href := path + "/intelligence/brief?" + url.Values{"since": {stamp(b.Period.Since)}}.Encode()
	details, err := json.Marshal(struct {
		Period   Period `json:"period"`
		Markdown string `json:"markdown"`
		Href     string `json:"href"`
	}{b.Period, wholeLines(b.Markdown(), maxMarkdown), href})
	return timeline.Entry{
		ID: timeline.ID(due, timeline.Brief, p.CompanyID), At: due.UTC(), Kind: timeline.Brief, Title: b.Headline,
		Actor: timeline.Reference{Type: "system", ID: "orgops"}, Subject: timeline.Reference{Type: "company", ID: p.CompanyID}, Details: details,
	}, err
}

// wholeLines returns the first lines of a text that have at most n bytes as JSON.
func wholeLines(text string, n int) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		encoded, _ := json.Marshal(line) // strings always encode
		if n -= len(encoded); n < 0 {
			break
		}
		kept.WriteString(line)
	}
	return kept.String()
}
