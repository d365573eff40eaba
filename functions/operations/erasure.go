package operations

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerErasure(api huma.API) {
	web.Register(api, operation(http.MethodPost, "/erasure", "erase-company", "Ask for the erasure of the company",
		"A founder asks, and another founder or an operator approves within 24 hours: see approve-action. Then the company is suspended for good. "+
			"A minute later its key is destroyed, which makes its secrets unreadable; then its users, logins and items are removed. "+
			"Export the company before. A second request while the first one is pending answers the same approval.",
		http.StatusAccepted, user.ScopeOperationsWrite), d.eraseCompany)
}

// ErasureRequest asks for the erasure of a company.
type ErasureRequest struct {
	Name string `json:"name" maxLength:"200" doc:"the company's name, to confirm which company is meant" example:"Acme"`
}

// ErasureReceipt answers a request for an erasure.
type ErasureReceipt struct {
	State    string            `json:"state" enum:"requested" doc:"requested: it waits for the approval"`
	Approval approval.Approval `json:"approval" doc:"the approval that it waits for"`
}

type erasureInput struct{ Body ErasureRequest }

type erasureOutput struct{ Body ErasureReceipt }

func (d Deps) eraseCompany(ctx context.Context, in *erasureInput) (*erasureOutput, error) {
	c, caller := web.Tenant(ctx), web.CallerOf(ctx)
	asks, _, err := company.GetUser(ctx, c, caller.UserID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	if !asks.Founds() {
		return nil, fault.New(fault.Forbidden, "only a founder may ask for the erasure of the company")
	}
	is, _, err := company.Get(ctx, c)
	if err != nil {
		return nil, err
	}
	if in.Body.Name != is.Name {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/name", Detail: "must be the company's name, exactly"}})
	}
	decision, payload, err := d.mustApprove(is, caller.UserID)
	if err != nil {
		return nil, err
	}
	a, err := d.request(ctx, c, decision, payload, is.Name, asks.Name)
	return &erasureOutput{ErasureReceipt{"requested", a}}, err
}

// mustApprove returns the decision that an erasure needs an approval, and the exact action.
func (d Deps) mustApprove(is company.Company, userID string) (policy.Decision, json.RawMessage, error) {
	payload := json.RawMessage(`{"companyId":"` + is.ID + `"}`)
	r := policy.Request{
		Principal: timeline.Reference{Type: user.Entity, ID: userID}, Action: erasure.Action,
		Resource: timeline.Reference{Type: company.Entity, ID: is.ID}, Payload: payload,
	}
	digest, err := policyengine.Digest(is.ID, r)
	out := erasureDecision(r.Principal, is.ID, policy.NeedsApproval, d)
	out.ActionDigest = digest
	return out, payload, err
}

func erasureDecision(principal timeline.Reference, companyID string, v policy.Verdict, d Deps) policy.Decision {
	return policy.Decision{
		ID: id.At(d.Now(), erasure.Action, companyID, principal.ID, string(v)), Verdict: v, Principal: principal, Action: erasure.Action,
		Resource: timeline.Reference{Type: company.Entity, ID: companyID}, At: d.Now().UTC(),
		Policies: []string{erasure.Policy}, Reasons: []string{"a second person has to approve the erasure of a company"},
	}
}

// beginErasure returns the writes that begin an approved erasure, with the decision that permits it.
func (d Deps) beginErasure(ctx context.Context, a approval.Approval) (policy.Decision, []store.Op, error) {
	c := web.Tenant(ctx)
	decision := erasureDecision(a.Principal, c.ID(), policy.Permitted, d)
	ops, err := erasure.Begin(ctx, c, d.Now())
	return decision, append(ops, policy.Create(c, decision)), err
}
