package intake

import (
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
)

// item returns what an action would store, as far as policies may read it.
func (p Planner) item(a connector.Action) policy.Item {
	i := policy.Item{Provider: p.Integration.Provider}
	switch {
	case a.Memory != nil:
		i.ExternalID, i.Kind, i.Title = a.Memory.ExternalID, a.Memory.Kind, a.Memory.Title
	case a.Goal != nil:
		i.ExternalID, i.Title, i.State = a.Goal.ExternalID, a.Goal.Title, string(a.Goal.State)
		i.Percent = int(a.Goal.Progress * 100)
	case a.Note != nil:
		i.Subject, i.Title = a.Note.Subject, a.Note.Title
	}
	return i
}

// exact holds an action with every field that its effect depends on. Its JSON identifies the action.
type exact struct {
	Memory    *memory.Draft `json:"memory,omitempty"`
	Goal      *goal.Draft   `json:"goal,omitempty"`
	Title     string        `json:"title,omitempty"`   // of a note
	Subject   string        `json:"subject,omitempty"` // of a note
	Details   string        `json:"details,omitempty"` // of a note, as text: canonical JSON would round large numbers
	Once      string        `json:"once,omitempty"`    // of a note
	UpdatedAt *time.Time    `json:"updatedAt,omitempty"`
}

func exactly(a connector.Action) exact {
	e := exact{Memory: a.Memory, Goal: a.Goal}
	switch {
	case a.Memory != nil:
		e.UpdatedAt = a.Memory.UpdatedAt
	case a.Goal != nil:
		e.UpdatedAt = a.Goal.UpdatedAt
	case a.Note != nil:
		e.Title, e.Subject, e.Details, e.Once = a.Note.Title, a.Note.Subject, string(a.Note.Details), a.Note.Once
	}
	return e
}
