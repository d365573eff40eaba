package operations

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"orgops/functions/operations/approvals"
	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// replacement is the exact action of policies.replace, to which an approval is bound.
type replacement struct {
	Version  int64              `json:"version"` // of the policies that are replaced
	Policies []policy.Statement `json:"policies"`
}

// replacing holds what a replacement is about: the stored policies of a version, and what it loosens.
type replacing struct {
	was     policy.Stored
	is      replacement
	payload json.RawMessage
	loosens Loosening
}

// maxPayload limits a replacement as JSON, so that the item of its approval also fits into the store.
const maxPayload = store.MaxBody - 8<<10

// maxWords limits what an approval's title tells of a replacement, in bytes.
const maxWords = 500

func (d Deps) replacing(was policy.Stored, version int64, is replacement) (replacing, error) {
	if is.Version != version {
		return replacing{}, fault.New(fault.Conflict, "the policies have changed since the replacement was asked for; reject it, and ask for one of the present policies")
	}
	payload, err := json.Marshal(is)
	if err != nil {
		return replacing{}, err
	}
	if len(payload) > maxPayload {
		return replacing{}, fault.Refuse([]fault.FieldError{{Pointer: "/policies", Detail: "too long as JSON: use fewer characters that JSON has to escape"}})
	}
	l, err := d.loosened(was.Policies, is.Policies)
	return replacing{was, is, payload, l}, err
}

// judge asks the stored policies about a replacement by a user. Those that this release cannot read do not count, because it is the
// replacement that repairs them.
func (d Deps) judge(companyID string, r replacing, by user.User, approved string) (policy.Decision, error) {
	set, err := policyengine.CompileReadable(r.was.Policies)
	if err != nil {
		return policy.Decision{}, err
	}
	asked := replacementBy(by, r.loosens.words() != "")
	asked.Payload, asked.Approval = r.is, approved
	return set.Decide(companyID, asked, d.Now().UTC())
}

// replacementBy returns the request of a user to replace the policies.
func replacementBy(by user.User, loosens bool) policy.Request {
	return policy.Request{
		Principal: timeline.Reference{Type: user.Entity, ID: by.ID}, Action: policy.PoliciesReplace,
		Resource: timeline.Reference{Type: policy.StoredEntity, ID: policy.StoredEntity},
		Context: policy.Context{
			Kind: string(by.Role), Port: policy.PoliciesReplace, Permissions: []string{policy.PoliciesReplace}, Enabled: true, Certified: true,
		},
		Item: policy.Item{Title: policy.StoredEntity, Loosens: loosens},
	}
}

// replace returns the policies as they will be stored, and the writes that store them and tell what they loosen.
func (d Deps) replace(ctx context.Context, c store.Company, r replacing, digest, userID string) (policy.Stored, []store.Op, error) {
	now := d.Now().UTC()
	next := policy.Stored{Policies: r.is.Policies, Digest: digest, UpdatedAt: now, UpdatedBy: userID}
	told, err := r.loosens.tell(ctx, c, r.is.Version+1, userID, now)
	return next, append(told, policy.Save(c, r.is.Version, next)), err
}

// askForReplacement stores the request for an approval, and answers with the policies that decide until then.
func (d Deps) askForReplacement(ctx context.Context, c store.Company, r replacing, decision policy.Decision) (*policiesOutput, error) {
	title := "Replace the policies"
	if words := r.loosens.words(); words != "" {
		title += ": " + text.Truncate(words, maxWords)
	}
	by, _, err := company.GetUser(ctx, c, decision.Principal.ID)
	if err != nil {
		return nil, err
	}
	a, err := d.request(ctx, c, decision, r.payload, title, by.Name)
	if err != nil {
		return nil, err
	}
	out, err := policiesAnswer(r.was, r.is.Version)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location, out.Body.Approval = http.StatusAccepted, web.CompanyPath(ctx)+"/operations/approvals/"+a.ID, &a
	return out, nil
}

// request stores the approval that a decision asks for, or returns the approval that waits for the same action already. by is the name of the
// user who asks, "" for a user without one.
func (d Deps) request(ctx context.Context, c store.Company, decision policy.Decision, payload json.RawMessage, title, by string) (approval.Approval, error) {
	mark, version, err := approval.FindMark(ctx, c, decision.ActionDigest)
	switch {
	case err != nil:
		return approval.Approval{}, store.Fault(err, "")
	case mark.Holds(d.Now()) && mark.State == approval.Rejected:
		return approval.Approval{}, fault.New(fault.Conflict, "this was asked for and rejected; it can be asked for again a day after that request")
	case mark.Holds(d.Now()):
		a, _, err := approvals.Load(ctx, c, mark.ID)
		return a, err
	}
	a := approval.New(decision, payload, title, decision.Principal)
	a.PrincipalName = by
	err = c.Commit(ctx, append(a.Request(c, version), policy.Create(c, decision))...)
	return a, store.Fault(err, "")
}

// carryOutReplacement replaces the policies as a user asked for, if the stored ones are those of the request.
func (d Deps) carryOutReplacement(ctx context.Context, a approval.Approval) (intake.Planned, []store.Op, error) {
	c := web.Tenant(ctx)
	var is replacement
	if err := json.Unmarshal(a.Payload, &is); err != nil {
		return intake.Planned{}, nil, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	was, version, err := policy.Load(ctx, c)
	if err != nil {
		return intake.Planned{}, nil, store.Fault(err, "")
	}
	r, err := d.replacing(was, version, is)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	set, err := d.compile("/payload/policies", is.Policies)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	by, _, err := company.GetUser(ctx, c, a.RequestedBy.ID)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	decision, err := d.judge(c.ID(), r, by, a.Digest)
	if err != nil {
		return intake.Planned{}, nil, err
	}
	_, ops, err := d.replace(ctx, c, r, set.Digest(), by.ID)
	return intake.Planned{Decision: decision, Outcome: intake.Updated}, append(ops, policy.Create(c, decision)), err
}
