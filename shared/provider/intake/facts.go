package intake

import (
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
)

// item returns what an action would store, as far as policies may read it.
func (p *Planner) item(a connector.Action) policy.Item {
	i := policy.Item{Provider: p.Integration.Provider}
	switch {
	case a.Memory != nil:
		i.ExternalID, i.Kind, i.Title = a.Memory.ExternalID, a.Memory.Kind, a.Memory.Title
	case a.Goal != nil:
		i.ExternalID, i.Title, i.State = a.Goal.ExternalID, a.Goal.Title, string(a.Goal.State)
		i.Percent = int(a.Goal.Progress * 100)
	case a.Reading != nil:
		i.ExternalID, i.Title, i.State, i.Percent = a.Reading.Goal, a.Reading.Title, string(goal.Open), int(a.Reading.Progress*100)
	case a.Note != nil:
		i.Subject, i.Title = a.Note.Subject, a.Note.Title
	}
	return i
}

// exact holds an action with every field that its effect depends on, as long as it would be stored. Its JSON identifies the
// action, and an approval keeps it.
type exact struct {
	Memory    *memory.Draft `json:"memory,omitempty"`
	Goal      *goal.Draft   `json:"goal,omitempty"`
	Reading   *goal.Reading `json:"reading,omitempty"`
	Title     string        `json:"title,omitempty"`   // of a note
	Subject   string        `json:"subject,omitempty"` // of a note
	Details   string        `json:"details,omitempty"` // of a note, as text: canonical JSON would round large numbers
	Once      string        `json:"once,omitempty"`    // of a note
	UpdatedAt *time.Time    `json:"updatedAt,omitempty"`

	Incarnation string `json:"incarnation,omitempty"` // of the integration that asks
}

func (p *Planner) exactly(a connector.Action) exact {
	e := exact{Goal: a.Goal, Reading: a.Reading, Incarnation: p.Integration.Incarnation}
	switch {
	case a.Memory != nil:
		cut := a.Memory.Cut()
		e.Memory, e.UpdatedAt = &cut, a.Memory.UpdatedAt
	case a.Goal != nil:
		e.UpdatedAt = a.Goal.UpdatedAt
	case a.Note != nil:
		e.Title, e.Subject, e.Details, e.Once = a.Note.Title, a.Note.Subject, string(a.Note.Details), a.Note.Once
		e.UpdatedAt = a.Note.At
	}
	return e
}

// Restore returns the action that an approval keeps.
func Restore(action string, payload json.RawMessage) (connector.Action, error) {
	a := connector.Action{Port: integration.Port(action)}
	var e exact
	if err := json.Unmarshal(payload, &e); err != nil {
		return a, fmt.Errorf("restore %s: %w", action, err)
	}
	switch a.Port {
	case integration.MemoryUpsert:
		a.Memory = e.Memory
	case integration.GoalUpdate:
		a.Goal, a.Reading = e.Goal, e.Reading
	case integration.TimelineNote:
		a.Note = &connector.NoteDraft{Title: e.Title, Subject: e.Subject, Once: e.Once, At: e.UpdatedAt}
		if e.Details != "" {
			a.Note.Details = json.RawMessage(e.Details)
		}
	}
	switch {
	case a.Memory != nil:
		a.Memory.UpdatedAt = e.UpdatedAt
	case a.Goal != nil:
		a.Goal.UpdatedAt = e.UpdatedAt
	case a.Note == nil && a.Reading == nil:
		return a, fmt.Errorf("restore %s: the payload has no draft of this action", action)
	}
	return a, nil
}
