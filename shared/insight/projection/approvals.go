package projection

import (
	"cmp"
	"fmt"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// Governance holds the facts about the company's policies and about the approvals that they ask for.
type Governance struct {
	Policies   int       `json:"policies" doc:"how many policies the company has stored, next to those of the service" format:"int32"`
	PoliciesAt time.Time `json:"policiesAt,omitzero" doc:"when the company's policies were last stored"`
	Shadow     int       `json:"shadow,omitempty" doc:"how many of them are log-only: they only record what they would decide" format:"int32"`
	ShadowAt   time.Time `json:"shadowAt,omitzero" doc:"since when the company has had a log-only policy"`
	Waiting    Tally     `json:"waiting" doc:"approvals that wait for a decision, by the hour of their request; the last two days"`
	Unanswered Tally     `json:"unanswered" doc:"approvals that expired without a decision, by the day of their request; the last 30 days"`
}

// waitingKept and unansweredKept limit how far back approvals are counted.
const (
	waitingKept    = 48 * time.Hour
	unansweredKept = 30 * tallyDay
)

// approvalState holds the fields of an approval that folding needs.
type approvalState struct {
	State       approval.State     `json:"state"`
	Principal   timeline.Reference `json:"principal"`
	Name        string             `json:"principalName"`
	Action      string             `json:"action"`
	Title       string             `json:"title"`
	RequestedAt time.Time          `json:"requestedAt"`
	ExpiresAt   time.Time          `json:"expiresAt"`
	Answer      approval.Answer    `json:"answer"`
}

func (f *folding) approval(c store.Change) error {
	was, err := decode[approvalState](c.Old)
	if err != nil {
		return err
	}
	is, err := decode[approvalState](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	if was.State != is.State {
		f.countApproval(was, -1)
		f.countApproval(is, +1)
		f.addApprovalEntry(c, is)
	}
	return nil
}

// countApproval adds n (+1 or -1) to the count of an approval's state.
func (f *folding) countApproval(a approvalState, n int) {
	at, g := a.RequestedAt.UTC(), &f.Governance
	switch a.State {
	case approval.Pending:
		if from := at.Truncate(time.Hour); !from.Before(oldestHour(f.UpdatedAt)) {
			g.Waiting.add(from, n)
		}
	case approval.Expired:
		if from := at.Truncate(tallyDay); !from.Before(oldestDay(f.UpdatedAt)) {
			g.Unanswered.add(from, n)
		}
	}
}

// oldestHour and oldestDay return the oldest steps of waiting and of unanswered approvals that count as of now.
func oldestHour(now time.Time) time.Time { return now.Add(-waitingKept).Truncate(time.Hour) }
func oldestDay(now time.Time) time.Time  { return now.Add(-unansweredKept).Truncate(tallyDay) }

// addApprovalEntry adds the timeline entry of an approval that was requested or has ended.
func (f *folding) addApprovalEntry(c store.Change, is approvalState) {
	subject := timeline.Reference{Type: approval.Entity, ID: c.Key[len(approval.Prefix):]}
	what := fmt.Sprintf("%s to %s: %s", cmp.Or(is.Name, is.Principal.ID), is.Action, is.Title)
	switch is.State {
	case approval.Pending:
		f.addEntry(c, timeline.ApprovalRequested, timeline.Entry{
			Title: "An approval is needed for " + what, Actor: is.Principal, Subject: subject,
			Details: details(map[string]any{"action": is.Action, "expiresAt": is.ExpiresAt}),
		})
	case approval.Approved, approval.Rejected, approval.Expired, approval.Withdrawn:
		more := map[string]any{"action": is.Action, "state": is.State}
		if is.Answer.Verdict != "" {
			more["verdict"], more["outcome"], more["decisionId"] = is.Answer.Verdict, is.Answer.Outcome, is.Answer.DecisionID
		}
		f.addEntry(c, timeline.ApprovalDecided, timeline.Entry{
			Title: fmt.Sprintf("The approval for %s %s", what, howDecided(is)), Actor: is.Answer.By, Subject: subject, Details: details(more),
		})
	}
}

func howDecided(is approvalState) string {
	switch {
	case is.State == approval.Expired:
		return "expired without a decision"
	case is.State == approval.Rejected:
		return "was rejected"
	case is.State == approval.Withdrawn:
		return "was withdrawn"
	case is.Answer.Verdict != policy.Permitted:
		return "was given, but the policies no longer permit the action"
	}
	return "was given"
}

// policies folds the company's policies.
func (f *folding) policies(c store.Change) error {
	is, err := decode[struct {
		Policies []struct {
			Mode policy.Mode `json:"mode"`
		} `json:"policies"`
		UpdatedAt time.Time `json:"updatedAt"`
	}](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	g := &f.Governance
	g.Policies, g.PoliciesAt, g.Shadow = len(is.Policies), is.UpdatedAt.UTC(), 0
	for _, p := range is.Policies {
		if p.Mode == policy.LogOnly {
			g.Shadow++
		}
	}
	switch {
	case g.Shadow == 0:
		g.ShadowAt = time.Time{}
	case g.ShadowAt.IsZero():
		g.ShadowAt = g.PoliciesAt
	}
	return nil
}
