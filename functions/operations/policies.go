package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerPolicies(api huma.API) {
	web.Register(api, operation(http.MethodGet, "/policies", "get-policies", "Get the policies",
		"The company's Cedar policies, and those of the service, which apply to every company. A later release may check more: "+
			"problems lists what PUT would refuse.",
		http.StatusOK, user.ScopeOperationsRead), d.getPolicies)
	put := operation(http.MethodPut, "/policies", "put-policies", "Replace the policies",
		"Each policy is checked against the schema of actions and facts before any is stored. Once a company has policies, If-Match is needed. "+
			"The new policies decide everywhere within two seconds. If a stored forbid with @approval is about policies.replace, another person has "+
			"to approve the replacement: 202, and nothing changes until then. A forbid without @approval does not count for a replacement.",
		http.StatusOK, user.ScopeOperationsWrite)
	put.Responses = map[string]*huma.Response{"202": {Description: "The replacement waits for an approval"}}
	web.Register(api, put, d.putPolicies)
	web.Register(api, web.Unaudited(operation(http.MethodPost, "/policies/test", "test-policies", "Try policies",
		"Decides on an action with the stored policies, or with those of the request. It changes nothing.",
		http.StatusOK, user.ScopeOperationsWrite), "a trial changes nothing"), d.testPolicies)
}

// PolicySet shows the policies that decide about a company's automated actions.
type PolicySet struct {
	Policies  []policy.Statement `json:"policies" nullable:"false" doc:"the policies of the company"`
	Defaults  []policy.Statement `json:"defaults" nullable:"false" doc:"the policies of the service, which apply to every company"`
	Digest    string             `json:"digest" doc:"SHA-256 over all these policies, base64url; each decision has that of its set" example:"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"`
	Version   int64              `json:"version" doc:"increments each time the company's policies are stored; 0: the company has stored none" example:"3"`
	UpdatedAt *time.Time         `json:"updatedAt,omitempty" doc:"when the company's policies were stored"`
	UpdatedBy string             `json:"updatedBy,omitempty" doc:"the user who stored them"`
	Problems  []fault.FieldError `json:"problems,omitempty" doc:"what is wrong with the company's policies by the checks of this release, which PUT would refuse; a policy that cannot be read or evaluated denies"`
	Approval  *approval.Approval `json:"approval,omitempty" doc:"the approval that a replacement waits for, in the answer with status 202 alone; the policies in the answer decide until then"`
}

type policiesOutput struct {
	Status   int
	Location string `header:"Location" doc:"the approval's path, if the replacement waits for one"`
	ETag     string `header:"ETag"`
	Body     PolicySet
}

func (d Deps) getPolicies(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[PolicySet], error) {
	stored, version, err := policy.Load(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, store.Fault(err, "")
	}
	body, err := showPolicies(stored, version)
	if err != nil {
		return nil, err
	}
	if len(stored.Policies) > 0 {
		if body.Problems, err = d.Checker.Check("/policies", stored.Policies); err != nil {
			return nil, err
		}
	}
	etag, err := policiesTag(body)
	if err != nil {
		return nil, err
	}
	return web.Respond(*in, etag, web.Ready(body))
}

// PoliciesRequest holds the policies that replace the company's.
type PoliciesRequest struct {
	Policies []policy.Statement `json:"policies" nullable:"false" maxItems:"100" doc:"the company's policies, at most 64 KiB together; they replace those that are stored"`
}

type putPoliciesInput struct {
	web.Creation
	Body PoliciesRequest
}

// check compares the version with the headers. A company without policies has an ETag too, that of version 0.
func (in putPoliciesInput) check(version int64) error {
	if version == 0 {
		return in.IfMatch.Check("0")
	}
	return in.Check(strconv.FormatInt(version, 10))
}

// putPolicies replaces the company's policies. A caller must name the version that the change is based on, because an
// overwritten forbid would go unnoticed.
func (d Deps) putPolicies(ctx context.Context, in *putPoliciesInput) (*policiesOutput, error) {
	c := web.Tenant(ctx)
	was, version, err := policy.Load(ctx, c)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if version > 0 && in.IfMatch.IfMatch == "" && in.IfNoneMatch == "" {
		return nil, fault.New(fault.PreconditionRequired, "the company has policies: send the ETag of the version that the change is based on as If-Match")
	}
	if err := in.check(version); err != nil {
		return nil, err
	}
	set, err := d.compile("/policies", in.Body.Policies)
	if err != nil {
		return nil, err
	}
	r, err := d.replacing(was, version, replacement{version, in.Body.Policies})
	if err != nil {
		return nil, err
	}
	caller := web.CallerOf(ctx)
	decision, err := d.judge(c.ID(), r, user.User{ID: caller.UserID, Role: user.Role(caller.Role)}, "")
	if err != nil {
		return nil, err
	}
	if decision.Verdict != policy.Permitted {
		return d.askForReplacement(ctx, c, r, decision)
	}
	stored, ops, err := d.replace(ctx, c, r, set.Digest(), caller.UserID)
	if err != nil {
		return nil, err
	}
	if decision.Shadow != nil { // without one, no policy of the company is about replacements
		ops = append(ops, policy.Create(c, decision))
	}
	err = c.Commit(ctx, ops...)
	if errors.Is(err, store.ErrConflict) {
		return nil, fault.Wrap(fault.Stale, "the policies changed since you read them; read them again and retry with the new ETag", err)
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	d.forget(c)
	return policiesAnswer(stored, version+1)
}

// forget makes the next decision of this process read the company's policies again.
func (d Deps) forget(c store.Company) {
	if engine, caches := d.Engine.(interface{ Forget(company string) }); caches {
		engine.Forget(c.ID())
	}
}

func policiesAnswer(s policy.Stored, version int64) (*policiesOutput, error) {
	body, err := showPolicies(s, version)
	if err != nil {
		return nil, err
	}
	etag, err := policiesTag(body)
	return &policiesOutput{Status: http.StatusOK, ETag: etag, Body: body}, err
}

// compile checks and compiles the policies of a request. Pointers of problems start with at.
func (d Deps) compile(at string, own []policy.Statement) (*policyengine.Set, error) {
	problems, err := d.Checker.Check(at, own)
	if err != nil {
		return nil, err
	}
	if err := fault.Refuse(problems); err != nil {
		return nil, err
	}
	return policyengine.Compile(own)
}

// policiesTag covers the release too, because the policies of the service and the problems are part of the answer.
func policiesTag(s PolicySet) (string, error) {
	tag := fmt.Sprintf("%d.%s", s.Version, s.Digest)
	if len(s.Problems) == 0 {
		return web.ETag(tag), nil
	}
	return web.ETagAt(tag, s.Problems)
}

func showPolicies(s policy.Stored, version int64) (PolicySet, error) {
	out := PolicySet{Policies: s.Policies, Version: version, UpdatedBy: s.UpdatedBy}
	if out.Policies == nil {
		out.Policies = []policy.Statement{}
	}
	if version > 0 {
		at := s.UpdatedAt
		out.UpdatedAt = &at
	}
	var err error
	if out.Digest, err = policyengine.DigestOf(s.Policies); err != nil {
		return out, err
	}
	out.Defaults, err = policyengine.Defaults()
	return out, err
}
