package executives

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/phrase"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/provider/acting"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// ExecutiveReport shows a certification run in the API.
type ExecutiveReport struct {
	executive.Report
	State executive.State `json:"state" enum:"sandbox,certified" doc:"the executive's state now"`
}

type reportOutput struct{ Body ExecutiveReport }

// certifyExecutive runs the checks and stores their report. The commit fails if the executive has changed since the checks
// read it.
func (d Deps) certifyExecutive(ctx context.Context, in *ExecutiveInput) (*reportOutput, error) {
	c, now := web.Tenant(ctx), d.Now().UTC()
	s, err := executive.Load(ctx, c, in.Executive)
	if err != nil {
		return nil, err
	}
	checks, err := d.examine(ctx, c, s.Executive, now)
	if err != nil {
		return nil, err
	}
	s.Executive = s.Conclude(executive.NewReport(checks, now), now)
	if err := c.Commit(ctx, save(c, s)); err != nil {
		return nil, store.Fault(err, "")
	}
	return d.report(ctx, s), nil
}

func (d Deps) getCertification(ctx context.Context, in *ExecutiveInput) (*reportOutput, error) {
	s, err := executive.Load(ctx, web.Tenant(ctx), in.Executive)
	if err != nil {
		return nil, err
	}
	if s.Report == nil {
		return nil, fault.New(fault.NotFound, "the certification of the executive has not been run; POST to this path to run it")
	}
	return d.report(ctx, s), nil
}

func (d Deps) report(ctx context.Context, s executive.Stored) *reportOutput {
	return &reportOutput{ExecutiveReport{Report: s.Report.Below(web.CompanyPath(ctx)), State: s.StateAt(d.Now())}}
}

// examine runs the checks.
func (d Deps) examine(ctx context.Context, c store.Company, e executive.Executive, now time.Time) ([]finding.Check, error) {
	owner, err := acting.OwnerState(ctx, c, e.Owner)
	if err != nil {
		return nil, err
	}
	refusal, err := d.checkRefusal(ctx, c, e, now)
	if err != nil {
		return nil, err
	}
	return []finding.Check{checkDeclared(e), refusal, checkOwner(owner), checkQuota(e)}, nil
}

func checkDeclared(e executive.Executive) finding.Check {
	names := make([]string, 0, len(e.Actions))
	for _, a := range e.Actions {
		names = append(names, string(a))
	}
	return conclude(finding.Check{
		ID: "declares-actions", Title: "Declares what it may ask for",
		Evidence: []finding.Evidence{{Name: "declared actions", Value: float64(len(names))}},
	}, len(names) > 0, "it declares "+strings.Join(names, ", "), "it declares no action; give it the actions that it needs")
}

// checkRefusal proves that the policies refuse what the executive does not declare. It asks about every such action, and for
// an executive that declares all of them, about each one as if it were not declared.
func (d Deps) checkRefusal(ctx context.Context, c store.Company, e executive.Executive, now time.Time) (finding.Check, error) {
	var asked, allowed []string
	for _, a := range executive.Actions() {
		other := e
		if len(e.Actions) == len(executive.Actions()) {
			other.Actions = slices.DeleteFunc(slices.Clone(e.Actions), func(declared executive.Action) bool { return declared == a })
		}
		if other.Declares(a) {
			continue
		}
		input, about := acting.Sample(a)
		r := acting.Question(other, a, input, about)
		r.Context.Enabled, r.Context.Certified = true, true // nothing else must be the reason of a refusal
		decision, err := policy.Ask(ctx, d.Engine, c, r, now)
		if err != nil {
			return finding.Check{}, err
		}
		if asked = append(asked, string(a)); decision.Verdict != policy.Denied {
			allowed = append(allowed, string(a))
		}
	}
	return conclude(finding.Check{
		ID: "refuses-undeclared-actions", Title: "The policies refuse an action that it does not declare",
		Evidence: []finding.Evidence{
			{Name: "undeclared actions asked for", Value: float64(len(asked))}, {Name: "of these refused", Value: float64(len(asked) - len(allowed))},
		},
	}, len(allowed) == 0, "the policies refused "+strings.Join(asked, ", "),
		fmt.Sprintf("the policies do not deny %s; change the policy that permits it", strings.Join(allowed, ", "))), nil
}

func checkOwner(owner user.State) finding.Check {
	found := string(owner)
	if found == "" {
		found = "not a user of the company"
	}
	return conclude(finding.Check{ID: "owner-active", Title: "An active user owns it", Evidence: []finding.Evidence{}},
		owner == user.Active, "its owner is an active user", "its owner is "+found+"; name an active user")
}

func checkQuota(e executive.Executive) finding.Check {
	return conclude(finding.Check{
		ID: "daily-quota", Title: "Has a quota a day",
		Evidence: []finding.Evidence{{Name: "quota", Value: float64(e.QuotaPerDay), Unit: "actions a day"}},
	}, e.QuotaPerDay > 0, "it may ask for "+phrase.Plural(e.QuotaPerDay, "action", "actions")+" a day", "it has no quota a day; set quotaPerDay")
}

// conclude returns a check with its result. A failed one gets the operation that fixes it.
func conclude(c finding.Check, passed bool, good, bad string) finding.Check {
	if passed {
		c.Status, c.Reason = finding.Pass, good
		return c
	}
	c.Status, c.Reason = finding.Fail, bad
	c.Remedy = &finding.Remedy{Operation: "configure-executive", Method: "POST", Href: "/executives"}
	return c
}
