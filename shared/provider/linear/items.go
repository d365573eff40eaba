package linear

import (
	"cmp"
	"strings"

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
	ID          string         `json:"id"`
	Identifier  string         `json:"identifier"` // such as ENG-12; it changes with the team
	Title       string         `json:"title"`
	Description string         `json:"description"`
	URL         string         `json:"url"`
	UpdatedAt   connector.When `json:"updatedAt"`
	Trashed     bool           `json:"trashed"`
}

type project struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	URL         string         `json:"url"`
	Progress    float64        `json:"progress"`
	StartDate   connector.When `json:"startDate"` // a date alone
	TargetDate  connector.When `json:"targetDate"`
	CompletedAt connector.When `json:"completedAt"`
	CanceledAt  connector.When `json:"canceledAt"`
	UpdatedAt   connector.When `json:"updatedAt"`
	Trashed     bool           `json:"trashed"`
}

// drafts adds an answer's items to a page. They equal those that the default mapping makes of the webhooks about the same
// things.
func (got answer) drafts(page *connector.FetchedPage) {
	var deleted connector.FetchedPage
	defer func() { page.Remove(deleted) }()
	for _, item := range got.Issues.items() {
		i := item.Value
		if i.Trashed {
			deleted.Memories = append(deleted.Memories, memory.Draft{ExternalID: i.ID, UpdatedAt: i.UpdatedAt.At})
			continue
		}
		if item.Refused != "" {
			page.Refuse(cmp.Or(i.Identifier, i.ID), item.Refused)
			continue
		}
		if i.ID == "" {
			skip(page, issues, cmp.Or(i.Title, i.Identifier))
			continue
		}
		page.WarnOfTime("updatedAt", i.ID, i.UpdatedAt)
		page.Memories = append(page.Memories, memory.Draft{
			ExternalID: i.ID, Kind: issueKind, Title: orElse(i.Title, cmp.Or(i.Identifier, i.ID)), Body: i.Description, URL: i.URL, UpdatedAt: i.UpdatedAt.At,
		})
	}
	for _, item := range got.Projects.items() {
		p := item.Value
		if p.Trashed {
			deleted.Goals = append(deleted.Goals, goal.Draft{ExternalID: p.ID, UpdatedAt: p.UpdatedAt.At})
			continue
		}
		if item.Refused != "" {
			page.Refuse(p.ID, item.Refused)
			continue
		}
		if p.ID == "" {
			skip(page, projects, p.Name)
			continue
		}
		page.WarnOfTime("targetDate", p.ID, p.TargetDate)
		d := goal.Draft{
			ExternalID: p.ID, Title: text.Truncate(orElse(p.Name, "Project"), maxTitle), Target: text.Truncate(p.Description, maxTarget), URL: p.URL,
			Progress: p.Progress, StartedAt: p.StartDate.At, DueAt: p.TargetDate.At, State: goal.Open, UpdatedAt: p.UpdatedAt.At,
		}
		if p.CompletedAt.At != nil || p.CanceledAt.At != nil {
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

// skip leaves an item without an id out. The run cannot know which item it shows, so it removes none.
func skip(page *connector.FetchedPage, l list, title string) {
	page.Refuse(title, "the item of Linear's "+string(l)+" has no id")
}
