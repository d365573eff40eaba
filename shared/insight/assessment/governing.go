package assessment

import (
	"fmt"
	"time"

	"orgops/shared/base/phrase"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
)

// Thresholds of approvals. An approval without an answer expires after a day.
const (
	approvalWarn    = 4 * time.Hour
	approvalFail    = 20 * time.Hour
	approvalExpired = 7 * day // for how long an expired approval counts
)

const (
	approvalsPath = "/operations/approvals"
	policiesPath  = "/operations/policies"
)

// governed reports whether approvals may be asked for, or were.
func (v view) governed() bool {
	g := v.Governance
	return g.Policies > 0 || g.Waiting.Total() > 0 || g.Unanswered.Total() > 0
}

// expired counts the approvals of the last week that expired without an answer. The company counts them by day.
func (v view) expired() int {
	n := 0
	for _, b := range v.Governance.Unanswered {
		if v.asOf.Sub(b.From) < approvalExpired {
			n += b.Count
		}
	}
	return n
}

// waiting counts the approvals that still can be answered, and returns the age of the oldest. The company counts them by hour,
// so the age may be an hour too high.
func (v view) waiting() (n int, oldest time.Time, age time.Duration) {
	for _, b := range v.Governance.Waiting {
		if v.asOf.Sub(b.From) >= day+time.Hour {
			continue
		}
		if n += b.Count; oldest.IsZero() {
			oldest, age = b.From, v.age(b.From)
		}
	}
	return n, oldest, age
}

func unanswered(v view) verdict {
	n, oldest, age := v.waiting()
	expired := v.expired()
	found := verdict{status: Pass, reason: "no approval waits", evidence: []Evidence{
		{Name: "waiting approvals", Value: float64(n), Unit: "approvals", At: oldest, Href: v.href(approvalsPath + "?state=pending")},
		{Name: "expired approvals in 7 days", Value: float64(expired), Unit: "approvals", Href: v.href(approvalsPath + "?state=expired")},
	}}
	if n > 0 {
		found.status = grade(age, approvalWarn, approvalFail)
		found.reason = fmt.Sprintf("the oldest approval has waited for %s; %s is a warning, %s a failure", phrase.Span(age), phrase.Span(approvalWarn), phrase.Span(approvalFail))
	}
	if expired > 0 {
		found.status, found.reason = Fail, fmt.Sprintf("%s within 7 days without an answer", phrase.Plural(expired, "approval expired", "approvals expired"))
	}
	if found.status != Pass {
		found.remedy = &v.call("list-approvals", "GET", approvalsPath+"?state=pending").Remedy
	}
	return found
}

// approvalsAnswered passes unless an approval is overdue: about to expire, or expired within a week.
func approvalsAnswered(v view) verdict {
	found := unanswered(v)
	if found.status == Warn {
		found.status, found.remedy = Pass, nil
	}
	return found
}

func policiesStored(v view) verdict {
	g := v.Governance
	found := verdict{status: Pass, reason: phrase.Plural(g.Policies, "policy is stored", "policies are stored"), evidence: []Evidence{
		{Name: "policies of the company", Value: float64(g.Policies), Unit: "policies", At: g.PoliciesAt, Href: v.href(policiesPath)},
	}}
	if g.Policies == 0 {
		found.status, found.reason = Fail, "the company has no policies of its own; those of the service apply"
		found.remedy = &v.call("put-policies", "PUT", policiesPath).Remedy
	}
	return found
}

func answerApprovals(v view) []Recommendation {
	n, oldest, age := v.waiting()
	if n == 0 {
		return nil
	}
	r := Recommendation{
		Title: "Answer the approvals that wait", Priority: recommendation.P3, FirstSeenAt: oldest, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		Operation: v.call("list-approvals", "GET", approvalsPath+"?state=pending"),
		Rationale: fmt.Sprintf("%s, the oldest for %s. After a day they expire, and the actions are not carried out.", phrase.Plural(n, "approval waits", "approvals wait"), phrase.Span(age)),
		Evidence:  []Evidence{{Name: "waiting approvals", Value: float64(n), Unit: "approvals", At: oldest, Href: v.href(approvalsPath + "?state=pending")}},
	}
	switch {
	case age >= approvalFail:
		r.Priority = recommendation.P1
	case age >= approvalWarn:
		r.Priority = recommendation.P2
	}
	return []Recommendation{r}
}

// storePolicies advises policies once a source may act by itself. Its operation shows the policies that apply now.
func storePolicies(v view) []Recommendation {
	if v.Governance.Policies > 0 || !v.any(func(i projection.Integration) bool { return isSource(i) && i.IsCertified(v.asOf) && i.Enabled }) {
		return nil
	}
	return []Recommendation{{
		Title: "Store policies of your own", Priority: recommendation.P4, Subject: timeline.Reference{Type: "company", ID: v.CompanyID},
		FirstSeenAt: v.Company.CreatedAt, Operation: v.call("get-policies", "GET", policiesPath),
		Rationale: "Certified sources act by the policies of the service alone. With your own, you say what needs an approval.",
		Evidence:  []Evidence{{Name: "policies of the company", Unit: "policies", Href: v.href(policiesPath)}},
	}}
}

// ApprovalCounts counts approvals in the dashboard.
type ApprovalCounts struct {
	Waiting  int        `json:"waiting" doc:"approvals that wait for an answer" format:"int32"`
	OldestAt *time.Time `json:"oldestAt,omitempty" doc:"when the oldest of them was asked for, to the hour"`
	Expired  int        `json:"expired" doc:"approvals that expired within 7 days without an answer" format:"int32"`
}

func (v view) approvals() ApprovalCounts {
	n, oldest, _ := v.waiting()
	counts := ApprovalCounts{Waiting: n, Expired: v.expired()}
	if n > 0 {
		counts.OldestAt = &oldest
	}
	return counts
}
