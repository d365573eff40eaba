package operations

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/operations/approvals"
	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerApprovals(api huma.API) {
	const one = "/approvals/{approvalId}"
	approvals.Register(api, d.Now)
	web.Register(api, operation(http.MethodPost, one+"/approve", "approve-action", "Approve an action",
		"Asks the current policies again. If they permit the action now, it is carried out in the commit that uses the approval. "+
			"If not, the approval is used all the same, and the answer has the decision. It takes another person than the one who asked, "+
			"whose role is older than the request.",
		http.StatusOK, user.ScopeOperationsWrite), d.approve)
	web.Register(api, operation(http.MethodPost, one+"/reject", "reject-action", "Reject an action",
		"The action is not carried out. For the rest of the 24 hours, the same action is refused without another approval.",
		http.StatusOK, user.ScopeOperationsWrite), d.reject)
	web.Register(api, operation(http.MethodPost, one+"/withdraw", "withdraw-approval", "Withdraw an approval",
		"Takes back a request that the own user made. The same action may be asked for again at once.",
		http.StatusOK, user.ScopeOperationsWrite), d.withdraw)
}

type approvalInput struct {
	ApprovalID string `path:"approvalId" maxLength:"64" doc:"id of the approval" example:"019c8a5c-6f00-7a31-8f2e-1b9d5c3a7e40"`
}

type approvalOutput struct{ Body approval.Approval }

// open reads an approval that can be decided.
func (d Deps) open(ctx context.Context, approvalID string) (approval.Approval, int64, error) {
	a, version, err := approvals.Load(ctx, web.Tenant(ctx), approvalID)
	if err == nil && !a.IsPending(d.Now()) {
		err = fault.Newf(fault.ApprovalDecided, "the approval is %s; it can be decided once, within 24 hours", a.AsOf(d.Now()).State)
	}
	return a, version, err
}

func (d Deps) answer(ctx context.Context) approval.Answer {
	return approval.Answer{At: d.Now().UTC(), By: timeline.Reference{Type: "user", ID: web.CallerOf(ctx).UserID}}
}

// settle ends an approval: decide says how, and which other writes belong to the end. If another write changes something that
// the end depends on, such as a right of a person who takes part, settle decides again from the new state. So of concurrent
// answers one takes effect.
func (d Deps) settle(ctx context.Context, approvalID string, decide func(approval.Approval) (approval.Approval, []store.Op, error)) (approval.Approval, error) {
	const maxTries = 8
	c := web.Tenant(ctx)
	for range maxTries {
		a, version, err := d.open(ctx, approvalID)
		if err != nil {
			return a, err
		}
		ended, ops, err := decide(a)
		if err != nil {
			return a, err
		}
		end, err := ended.Settle(ctx, c, version)
		if err != nil {
			return a, store.Fault(err, "")
		}
		if err = c.Commit(ctx, append(end, ops...)...); err == nil {
			return ended, nil
		}
		if err = store.Fault(err, ""); fault.KindOf(err) != fault.Conflict {
			return a, err
		}
	}
	return approval.Approval{}, fault.New(fault.Conflict, "the items of this action keep changing; try again")
}

func (d Deps) reject(ctx context.Context, in *approvalInput) (*approvalOutput, error) {
	ended, err := d.settle(ctx, in.ApprovalID, func(a approval.Approval) (approval.Approval, []store.Op, error) {
		parts, err := decider(ctx, a)
		return a.End(approval.Rejected, d.answer(ctx)), parts.unchanged, err
	})
	return &approvalOutput{ended}, err
}

// withdraw ends an approval that the caller asked for.
func (d Deps) withdraw(ctx context.Context, in *approvalInput) (*approvalOutput, error) {
	ended, err := d.settle(ctx, in.ApprovalID, func(a approval.Approval) (approval.Approval, []store.Op, error) {
		if a.RequestedBy != (timeline.Reference{Type: user.Entity, ID: web.CallerOf(ctx).UserID}) {
			return a, nil, fault.New(fault.Forbidden, "only the user who asked for the action can withdraw it; reject it instead")
		}
		return a.End(approval.Withdrawn, d.answer(ctx)), nil, nil
	})
	return &approvalOutput{ended}, err
}

// ApprovedAction shows an approval that was given, with the decision under the policies at that time.
type ApprovedAction struct {
	approval.Approval
	Decision policy.Decision `json:"decision" doc:"the policy engine's decision after the approval; the action was carried out only if it is permitted"`
}

type approvedOutput struct{ Body ApprovedAction }

// approve decides on the action again, under the current policies, and carries it out if they permit it. The approval is used
// in the same commit.
func (d Deps) approve(ctx context.Context, in *approvalInput) (*approvedOutput, error) {
	out := &approvedOutput{}
	ended, err := d.settle(ctx, in.ApprovalID, func(a approval.Approval) (approval.Approval, []store.Op, error) {
		unchanged, err := approver(ctx, a)
		if err != nil {
			return a, nil, err
		}
		planned, ops, err := d.carryOut(ctx, a)
		if err != nil {
			return a, nil, err
		}
		answer := d.answer(ctx)
		answer.DecisionID, answer.Verdict, answer.Outcome = planned.Decision.ID, planned.Decision.Verdict, string(planned.Outcome)
		out.Body.Decision = planned.Decision
		return a.End(approval.Approved, answer), append(ops, unchanged...), nil
	})
	if err == nil && ended.Action == policy.PoliciesReplace {
		d.forget(web.Tenant(ctx))
	}
	out.Body.Approval = ended
	return out, err
}
