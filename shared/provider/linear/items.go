package linear

import (
	"strings"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// issueKind is the kind of a memory.
const issueKind = "issue"

// Limits of a goal's texts, in bytes; Linear allows longer ones.
const (
	maxTitle  = 1024
	maxTarget = 4096
)

// issue and project hold the fields that become drafts.
type issue struct {
	ID          string     `json:"id"`
	Identifier  string     `json:"identifier"` // such as ENG-12; it changes with the team
	Title       string     `json:"title"`
	Description string     `json:"description"`
	URL         string     `json:"url"`
	UpdatedAt   *time.Time `json:"updatedAt"`
	Trashed     bool       `json:"trashed"`
}

type project struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	URL         string     `json:"url"`
	Progress    float64    `json:"progress"`
	StartDate   string     `json:"startDate"` // a date alone
	TargetDate  string     `json:"targetDate"`
	CompletedAt *time.Time `json:"completedAt"`
	CanceledAt  *time.Time `json:"canceledAt"`
	UpdatedAt   *time.Time `json:"updatedAt"`
	Trashed     bool       `json:"trashed"`
}

// drafts adds an answer's items to a page. They equal those that the default mapping makes of the webhooks about the same
// things.
func (got answer) drafts(page *connector.FetchedPage) {
	for _, i := range got.Issues.items() {
		if i.Trashed {
			continue
		}
		page.Incomplete = page.Incomplete || i.ID == ""
		page.Memories = append(page.Memories, memory.Draft{
			ExternalID: i.ID, Kind: issueKind, Title: orElse(i.Title, i.Identifier), Body: i.Description, URL: i.URL, UpdatedAt: utc(i.UpdatedAt),
		})
	}
	for _, p := range got.Projects.items() {
		if p.Trashed {
			continue
		}
		page.Incomplete = page.Incomplete || p.ID == ""
		d := goal.Draft{
			ExternalID: p.ID, Title: text.Truncate(orElse(p.Name, "Project"), maxTitle), Target: text.Truncate(p.Description, maxTarget), URL: p.URL,
			Progress: p.Progress, StartedAt: day(p.StartDate), DueAt: day(p.TargetDate), State: goal.Open, UpdatedAt: utc(p.UpdatedAt),
		}
		if p.CompletedAt != nil || p.CanceledAt != nil {
			d.State = goal.Closed
		}
		page.Goals = append(page.Goals, d)
	}
}

func orElse(title, otherwise string) string {
	if strings.TrimSpace(title) == "" {
		return otherwise
	}
	return title
}

// day returns the begin of a date, or nil.
func day(date string) *time.Time {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil
	}
	return &t
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
