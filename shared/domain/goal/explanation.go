package goal

import "time"

// ExplanationEntity and ExplanationPrefix name the entity of an explanation's item and the prefix of its key.
const (
	ExplanationEntity = "goal-explanation"
	ExplanationPrefix = "EXPLANATION#"
)

// MaxExplanation limits how long an explanation holds.
const MaxExplanation = 90 * 24 * time.Hour

// Explanation says why a goal may be off its pace for now. Readiness counts the goal as aligned until the explanation ends.
type Explanation struct {
	GoalID string    `json:"goalId" doc:"the goal" format:"uuid"`
	Text   string    `json:"text" doc:"why the goal may be off its pace" example:"The supplier delivers in May; the date follows then."`
	By     string    `json:"by" doc:"the user who explained it" format:"uuid"`
	At     time.Time `json:"at" doc:"when it was explained"`
	Until  time.Time `json:"until" doc:"when the explanation ends"`
}

// ExplanationKey returns the sort key of a goal's explanation.
func ExplanationKey(goalID string) string { return ExplanationPrefix + goalID }
