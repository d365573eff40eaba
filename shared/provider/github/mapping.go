package github

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// Maximum lengths of a goal's and a note's texts, in bytes. GitHub allows longer texts; Map cuts them.
const (
	maxTitle  = 1024
	maxTarget = 4096
)

// Map implements connector.Inbound. An event about an issue or a discussion upserts its memory. An event about a milestone,
// or about an issue in a milestone, updates the milestone's goal. A release becomes one note, when it is published. Map
// returns no actions for deletions, transfers, other events and repositories that are not configured.
func (*Connector) Map(config json.RawMessage, header http.Header, body []byte) ([]connector.Action, error) {
	var c Config
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("configuration of github: %w", err)
	}
	event := header.Get(headerEvent)
	if event == "" {
		return nil, fault.New(fault.Malformed, "the X-GitHub-Event header is missing")
	}
	body, err := document(header, body)
	if err != nil {
		return nil, err
	}
	actions := mappingOf(event)
	if actions == nil {
		if !json.Valid(body) {
			return nil, notJSON()
		}
		return nil, nil
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, notJSON()
	}
	if p.Repository == nil || !strings.EqualFold(p.Repository.FullName, c.Repository) || p.Action == "deleted" || p.Action == "transferred" {
		return nil, nil
	}
	return actions(c.Repository, p)
}

func notJSON() error {
	return fault.New(fault.Malformed, "the body is not a delivery of this event as GitHub sends it")
}

// document returns the JSON in a body. GitHub sends the JSON itself, or a form with the JSON in the field "payload".
func document(header http.Header, body []byte) ([]byte, error) {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if media != "application/x-www-form-urlencoded" {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("payload") {
		return nil, fault.New(fault.Malformed, "the form lacks the field payload; set the webhook's content type to application/json")
	}
	return []byte(form.Get("payload")), nil
}

// mappingOf returns the function that maps an event to actions, or nil for an event without actions.
func mappingOf(event string) func(repository string, p payload) ([]connector.Action, error) {
	switch event {
	case "issues":
		return mapIssue
	case "discussion":
		return mapDiscussion
	case "milestone":
		return mapMilestone
	case "release":
		return mapRelease
	}
	return nil
}

func mapIssue(repository string, p payload) ([]connector.Action, error) {
	if p.Issue == nil || p.Issue.Number <= 0 {
		return nil, missing("issue")
	}
	i := p.Issue
	actions := []connector.Action{upsert("/issue", memory.Draft{
		ExternalID: externalID(repository, "issues", i.Number), Kind: "issue",
		Title: orElse(i.Title, fmt.Sprintf("Issue #%d", i.Number)), Body: i.Body, URL: i.HTMLURL, UpdatedAt: stamp(i.UpdatedAt),
	})}
	if i.Milestone != nil && i.Milestone.Number > 0 {
		actions = append(actions, update("/issue/milestone", repository, i.Milestone))
	}
	return actions, nil
}

func mapDiscussion(repository string, p payload) ([]connector.Action, error) {
	if p.Discussion == nil || p.Discussion.Number <= 0 {
		return nil, missing("discussion")
	}
	d := p.Discussion
	return []connector.Action{upsert("/discussion", memory.Draft{
		ExternalID: externalID(repository, "discussions", d.Number), Kind: "discussion",
		Title: orElse(d.Title, fmt.Sprintf("Discussion #%d", d.Number)), Body: d.Body, URL: d.HTMLURL, UpdatedAt: stamp(d.UpdatedAt),
	})}, nil
}

func mapMilestone(repository string, p payload) ([]connector.Action, error) {
	if p.Milestone == nil || p.Milestone.Number <= 0 {
		return nil, missing("milestone")
	}
	return []connector.Action{update("/milestone", repository, p.Milestone)}, nil
}

func mapRelease(repository string, p payload) ([]connector.Action, error) {
	if p.Release == nil || p.Release.TagName == "" {
		return nil, missing("release")
	}
	if p.Action != "published" {
		return nil, nil
	}
	r := p.Release
	details := struct {
		Tag         string     `json:"tag"`
		Name        string     `json:"name,omitempty"`
		URL         string     `json:"url,omitempty"`
		Prerelease  bool       `json:"prerelease"`
		Author      string     `json:"author,omitempty"`
		PublishedAt *time.Time `json:"publishedAt,omitempty"`
	}{Tag: r.TagName, Name: r.Name, URL: r.HTMLURL, Prerelease: r.Prerelease, PublishedAt: r.PublishedAt}
	if r.Author != nil {
		details.Author = r.Author.Login
	}
	raw, err := json.Marshal(details)
	if err != nil {
		return nil, err
	}
	subject, once := repository+"/releases/"+r.TagName, ""
	if at := stamp(r.PublishedAt); at != nil {
		once = subject + "@" + at.Format(time.RFC3339)
	}
	title := text.Truncate(fmt.Sprintf("%s released %s", repository, orElse(r.Name, r.TagName)), maxTitle)
	return []connector.Action{{Port: integration.TimelineNote, At: "/release", Note: &connector.NoteDraft{
		Title: title, Subject: subject, Details: raw, Once: once,
	}}}, nil
}

func upsert(at string, d memory.Draft) connector.Action {
	return connector.Action{Port: integration.MemoryUpsert, Memory: &d, At: at}
}

// update makes a goal of a milestone. The progress is the share of its issues that are closed.
func update(at, repository string, m *milestone) connector.Action {
	d := goal.Draft{
		ExternalID: externalID(repository, "milestones", m.Number),
		Title:      text.Truncate(orElse(m.Title, fmt.Sprintf("Milestone %d", m.Number)), maxTitle),
		Target:     text.Truncate(m.Description, maxTarget), URL: m.HTMLURL, DueAt: m.DueOn, StartedAt: m.CreatedAt, State: goal.Open,
		UpdatedAt: stamp(m.UpdatedAt),
	}
	if m.State == "closed" {
		d.State = goal.Closed
	}
	if m.ClosedIssues > 0 && m.OpenIssues >= 0 {
		d.Progress = float64(m.ClosedIssues) / (float64(m.ClosedIssues) + float64(m.OpenIssues))
	}
	return connector.Action{Port: integration.GoalUpdate, Goal: &d, At: at}
}

// stamp returns a time of GitHub's in UTC, or nil for a time that RFC 3339 cannot express.
func stamp(t *time.Time) *time.Time {
	if t == nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return nil
	}
	u := t.UTC()
	return &u
}

func externalID(repository, what string, number int64) string {
	return fmt.Sprintf("%s/%s/%d", repository, what, number)
}

func missing(what string) error {
	return fault.Refuse([]fault.FieldError{{Pointer: "/" + what, Detail: "is missing or incomplete"}})
}

func orElse(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return s
}

const sample = `{"action":"opened","repository":{"full_name":"%[1]s"},"issue":{"number":1,"title":"A sample issue",` +
	`"body":"Nothing is wrong.","html_url":"https://github.com/%[1]s/issues/1"}}`

// SampleDelivery implements connector.Inbound.
func (*Connector) SampleDelivery(config json.RawMessage) (http.Header, []byte) {
	c := Config{Repository: "octo/app"}
	_ = json.Unmarshal(config, &c)            // without a configuration, the sample is about octo/app
	body := fmt.Sprintf(sample, c.Repository) // the schema allows only characters that JSON does not escape
	return http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(headerEvent): {"issues"}}, []byte(body)
}
