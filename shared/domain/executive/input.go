package executive

import (
	"fmt"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/recommendation"
)

// ActionInput holds the input of an action. Each action takes some of the fields.
type ActionInput struct {
	Provider         string                `json:"provider,omitempty" maxLength:"64" doc:"the integration to sync, to disable, or whose deliveries to recover" example:"feed"`
	Mode             string                `json:"mode,omitempty" enum:"incremental,full" doc:"incremental if absent; full fetches everything again"`
	Title            string                `json:"title,omitempty" maxLength:"1024" doc:"the text of a note" example:"The feed has been quiet for a week"`
	Subject          string                `json:"subject,omitempty" maxLength:"128" doc:"what a note is about" example:"feed"`
	GoalID           string                `json:"goalId,omitempty" maxLength:"64" doc:"the goal that a note is about" example:"3f0a7c1e-58d2-8a64-9d0b-0c8a1f6e2b47"`
	RecommendationID string                `json:"recommendationId,omitempty" maxLength:"64" doc:"the recommendation to claim or to dismiss" example:"5c1de0b2-9a44-8f07-b3c6-2f4f6f0f8a11"`
	Reason           recommendation.Reason `json:"reason,omitempty" enum:"not-applicable,accepted-risk,other-method,low-priority,planned,other" doc:"the kind of reason of a dismissal" example:"planned"`
	Text             string                `json:"text,omitempty" maxLength:"4096" doc:"the reason of a dismissal in words, 10 to 4,096 characters" example:"We replace this system in May, so its secret goes with it."`
	Since            *time.Time            `json:"since,omitempty" doc:"recover deliveries of events from this time on" example:"2026-01-01T00:00:00Z"`
	Until            *time.Time            `json:"until,omitempty" doc:"recover deliveries of events up to this time, by default now; or when a dismissal ends, by default in 90 days"`
}

// field is one member of an input.
type field struct {
	name string
	set  bool
}

func (in ActionInput) fields() []field {
	return []field{
		{"provider", in.Provider != ""}, {"mode", in.Mode != ""}, {"title", strings.TrimSpace(in.Title) != ""}, {"subject", in.Subject != ""},
		{"goalId", in.GoalID != ""}, {"recommendationId", in.RecommendationID != ""}, {"reason", in.Reason != ""}, {"text", in.Text != ""},
		{"since", in.Since != nil}, {"until", in.Until != nil},
	}
}

// takes lists the fields that an action needs, and those that it may have too.
func takes(a Action) (needed, optional string) {
	switch a {
	case MemorySync:
		return "provider", "mode"
	case RecommendationClaim:
		return "recommendationId", ""
	case RecommendationDismiss:
		return "recommendationId reason text", "until"
	case IntegrationDisable:
		return "provider", ""
	case TimelineNote:
		return "title", "subject"
	case GoalNote:
		return "goalId title", ""
	case DeliveriesRecover:
		return "provider since", "until"
	}
	return "", ""
}

// Check refuses an input that lacks a field of the action, or has one of another action.
func (in ActionInput) Check(a Action) error {
	var problems []fault.FieldError
	needed, optional := takes(a)
	for _, f := range in.fields() {
		refuse := func(detail string) {
			problems = append(problems, fault.FieldError{Pointer: "/input/" + f.name, Detail: detail})
		}
		switch {
		case listed(needed, f.name) && !f.set:
			refuse(fmt.Sprintf("%s needs it", a))
		case f.set && !listed(needed, f.name) && !listed(optional, f.name):
			refuse(fmt.Sprintf("%s does not take it", a))
		}
	}
	return fault.Refuse(problems)
}

// listed reports whether a text of words has a word.
func listed(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}
