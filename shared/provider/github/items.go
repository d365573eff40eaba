package github

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Limits of one page. GitHub's largest pages of 100 issues with texts of 65,536 characters stay below.
const (
	maxPage = 32 << 20
	maxText = 64 << 10 // bytes of a text that are kept while the page is read

	maxTitle  = 1024 // of a goal and a note, in bytes; GitHub allows longer texts
	maxTarget = 4096
)

// issue, milestone and release hold the members of a list's items that become drafts. GitHub sends many more.
type issue struct {
	ID          int64          `json:"id"` // GitHub keeps it when the repository is renamed or transferred
	Number      int64          `json:"number"`
	Title       string         `json:"title"`
	Body        string         `json:"body"`
	HTMLURL     string         `json:"html_url"`
	UpdatedAt   connector.When `json:"updated_at"`
	PullRequest *struct{}      `json:"pull_request"`
	State       string         `json:"state"`
	Milestone   *struct {
		ID     int64 `json:"id"`
		Number int64 `json:"number"`
	} `json:"milestone"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

// blocked names the label of an issue that waits for something else.
const blocked = "blocked"

// work says how far the issue is.
func (i issue) work() memory.Work {
	if i.State == "closed" {
		return memory.WorkDone
	}
	for _, l := range i.Labels {
		if strings.EqualFold(l.Name, blocked) {
			return memory.WorkBlocked
		}
	}
	return memory.WorkOpen
}

type milestone struct {
	ID           int64          `json:"id"`
	Number       int64          `json:"number"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	HTMLURL      string         `json:"html_url"`
	State        string         `json:"state"`
	OpenIssues   int64          `json:"open_issues"`
	ClosedIssues int64          `json:"closed_issues"`
	DueOn        connector.When `json:"due_on"`
	CreatedAt    connector.When `json:"created_at"`
	UpdatedAt    connector.When `json:"updated_at"`
}

type release struct {
	ID          int64          `json:"id"`
	TagName     string         `json:"tag_name"`
	Name        string         `json:"name"`
	HTMLURL     string         `json:"html_url"`
	Draft       bool           `json:"draft"`
	Prerelease  bool           `json:"prerelease"`
	PublishedAt connector.When `json:"published_at"`
	Author      *struct {
		Login string `json:"login"`
	} `json:"author"`
}

// decode adds the items of an answer to a page, one after the other, so that the memory it takes follows from the items that
// are kept. It returns how many there are, and when the last one changed.
func (r reader) decode(resp *http.Response, l list, page *connector.FetchedPage) (count int, newest time.Time, err error) {
	body := &io.LimitedReader{R: resp.Body, N: maxPage + 1}
	text := bufio.NewReader(body)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = text.Discard(len(mark)) // they were read already
	}
	start, _ := text.Peek(quoted) // a shorter text is fine
	items := json.NewDecoder(text)
	if token, err := items.Token(); body.N > 0 && (err != nil || token != json.Delim('[')) && !isBroken(err) {
		return count, newest, connector.NotListed("GitHub", resp, start, map[string]string{tokenField: r.token},
			"that is not the list that GitHub documents; check baseUrl and the token")
	} else if err != nil {
		return count, newest, undecodable(body, err)
	}
	for ; items.More(); count++ {
		var at *time.Time
		switch l {
		case issues:
			at, err = r.issue(items, page)
		case milestones:
			err = r.milestone(items, page)
		case releases:
			err = r.release(items, page)
		}
		if err != nil {
			return count, newest, undecodable(body, err)
		}
		if at != nil && at.After(newest) {
			newest = at.UTC()
		}
	}
	if _, err := items.Token(); err != nil {
		return count, newest, undecodable(body, err)
	}
	if _, err := items.Token(); !errors.Is(err, io.EOF) {
		return count, newest, undecodable(body, err)
	}
	return count, newest, nil
}

// byteOrderMark is what some servers put in front of a document in UTF-8. quoted is how many of its bytes an error looks at.
const (
	byteOrderMark = "\xEF\xBB\xBF"
	quoted        = 1 << 10
)

// isBroken reports whether an error is the connection's, and not the document's.
func isBroken(err error) bool {
	var syntax *json.SyntaxError
	return err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &syntax)
}

// skip leaves an item without a number out. The run cannot know which item it shows, so it removes none.
func skip(page *connector.FetchedPage, l list, title string) {
	page.Refuse(title, "the item of GitHub's "+string(l)+" has no number")
}

func undecodable(body *io.LimitedReader, err error) error {
	var network interface{ Timeout() bool }
	switch {
	case body.N <= 0:
		return fault.New(fault.Unavailable, "GitHub's answer is larger than 32 MiB")
	case errors.As(err, &network):
		return unreachable(err)
	}
	return fault.Wrap(fault.Unavailable, "GitHub's answer is not the list that it documents, or it was cut off", err)
}

// The drafts below equal those that the default mapping makes of the webhooks about the same things.

func (r reader) issue(items *json.Decoder, page *connector.FetchedPage) (changed *time.Time, err error) {
	var item connector.Item[issue]
	err = items.Decode(&item)
	i := item.Value
	if err != nil || i.PullRequest != nil {
		return i.UpdatedAt.At, err
	}
	if item.Refused != "" {
		page.Refuse(fmt.Sprintf("issue %d", i.Number), item.Refused)
		return i.UpdatedAt.At, nil
	}
	if i.Number <= 0 {
		skip(page, issues, i.Title)
		return i.UpdatedAt.At, nil
	}
	page.WarnOfTime("updated_at", fmt.Sprintf("issue %d", i.Number), i.UpdatedAt)
	d := memory.Draft{
		ExternalID: r.itemID("issues", i.ID, fmt.Sprint(i.Number)), Kind: "issue", Title: orElse(i.Title, fmt.Sprintf("Issue #%d", i.Number)),
		Body: text.Truncate(i.Body, maxText), URL: i.HTMLURL, UpdatedAt: i.UpdatedAt.At,
	}
	if i.Milestone != nil && i.Milestone.Number > 0 {
		d.Goal, d.Work = r.itemID("milestones", i.Milestone.ID, fmt.Sprint(i.Milestone.Number)), i.work()
	}
	page.Memories = append(page.Memories, d)
	return i.UpdatedAt.At, nil
}

// itemID names an item by GitHub's id, which does not depend on the repository's name. A server that gives none leaves the name
// and what is unique below it.
func (r reader) itemID(kind string, id int64, otherwise string) string {
	if id > 0 {
		return fmt.Sprintf("%s/%d", kind, id)
	}
	return r.config.Repository + "/" + kind + "/" + otherwise
}

// milestone adds a goal. Its progress is the share of the milestone's issues that are closed.
func (r reader) milestone(items *json.Decoder, page *connector.FetchedPage) error {
	var item connector.Item[milestone]
	if err := items.Decode(&item); err != nil {
		return err
	}
	m := item.Value
	if item.Refused != "" {
		page.Refuse(fmt.Sprintf("milestone %d", m.Number), item.Refused)
		return nil
	}
	if m.Number <= 0 {
		skip(page, milestones, m.Title)
		return nil
	}
	page.WarnOfTime("due_on", fmt.Sprintf("milestone %d", m.Number), m.DueOn)
	d := goal.Draft{
		ExternalID: r.itemID("milestones", m.ID, fmt.Sprint(m.Number)),
		Title:      text.Truncate(orElse(m.Title, fmt.Sprintf("Milestone %d", m.Number)), maxTitle),
		Target:     text.Truncate(m.Description, maxTarget), URL: m.HTMLURL, DueAt: m.DueOn.At, StartedAt: m.CreatedAt.At,
		State: goal.Open, UpdatedAt: m.UpdatedAt.At,
	}
	if m.State == "closed" {
		d.State = goal.Closed
	}
	if m.ClosedIssues > 0 && m.OpenIssues >= 0 {
		d.Progress = float64(m.ClosedIssues) / (float64(m.ClosedIssues) + float64(m.OpenIssues))
	}
	page.Goals = append(page.Goals, d)
	return nil
}

// release adds a note for a release that was published while the timeline still covers it. The same release by webhook makes
// the same note.
func (r reader) release(items *json.Decoder, page *connector.FetchedPage) error {
	var item connector.Item[release]
	if err := items.Decode(&item); err != nil {
		return err
	}
	l := item.Value
	if item.Refused != "" {
		page.Refuse(fmt.Sprintf("release %d", l.ID), item.Refused)
		return nil
	}
	at := l.PublishedAt.At
	if l.Draft || l.TagName == "" || at == nil || at.Before(r.now().Add(-timeline.Kept)) {
		return nil
	}
	details := struct {
		Tag         string     `json:"tag"`
		Name        string     `json:"name,omitempty"`
		URL         string     `json:"url,omitempty"`
		Prerelease  bool       `json:"prerelease"`
		Author      string     `json:"author,omitempty"`
		PublishedAt *time.Time `json:"publishedAt"`
	}{Tag: l.TagName, Name: l.Name, URL: l.HTMLURL, Prerelease: l.Prerelease, PublishedAt: at}
	if l.Author != nil {
		details.Author = l.Author.Login
	}
	raw, err := json.Marshal(details)
	if err != nil {
		return err
	}
	subject := r.itemID("releases", l.ID, l.TagName)
	page.Notes = append(page.Notes, connector.NoteDraft{
		Title:   text.Truncate(fmt.Sprintf("%s released %s", r.config.Repository, orElse(l.Name, l.TagName)), maxTitle),
		Subject: subject, Details: raw, Once: subject + "@" + at.Format(time.RFC3339), At: at,
	})
	return nil
}

func orElse(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return s
}

func unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, "GitHub cannot be reached: "+outbound.Explain(err), err)
}
