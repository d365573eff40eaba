// Package approvals serves the reads of approvals. They need nothing of what carries an action out, so a Lambda that offers them alone
// links none of it.
package approvals

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/user"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// clock tells the time, with which a waiting approval expires.
type clock func() time.Time

// Mount registers the operations with the service's parts.
func Mount(api huma.API, s *boot.Services) { Register(api, s.Now) }

// Register adds the operations to api.
func Register(api huma.API, now func() time.Time) {
	const all = "/companies/{companyId}/operations/approvals"
	web.Register(api, read(all, "list-approvals", "List approvals",
		"The actions that needed the approval of a person. Newest first. Approvals are kept for 180 days."), clock(now).list)
	web.Register(api, read(all+"/{approvalId}", "get-approval", "Get an approval", "Includes the exact action."), clock(now).get)
}

func read(path, id, summary, description string) huma.Operation {
	return web.AsTool(web.AuditedWrites(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: description,
		DefaultStatus: http.StatusOK, Tags: []string{"operations"}, Security: web.Needs(user.ScopeOperationsRead),
	}), web.Tool{})
}

type listInput struct {
	web.PageQuery
	State string `query:"state" enum:"pending,approved,rejected,expired,withdrawn" doc:"only approvals in this state"`
}

// list lists the approvals that were asked for.
func (now clock) list(ctx context.Context, in *listInput) (*web.PageOutput[approval.Approval], error) {
	at := now()
	page, err := web.List(ctx, in.PageQuery, store.Query{Prefix: approval.Prefix, Desc: true}, func(a approval.Approval) bool {
		return in.State == "" || string(a.AsOf(at).State) == in.State
	}, in.State)
	if err != nil {
		return nil, err
	}
	for n, a := range page.Body.Items {
		page.Body.Items[n] = a.AsOf(at)
	}
	return page, nil
}

type getInput struct {
	ApprovalID string `path:"approvalId" maxLength:"64" doc:"id of the approval" example:"019c8a5c-6f00-7a31-8f2e-1b9d5c3a7e40"`
}

type getOutput struct{ Body approval.Approval }

func (now clock) get(ctx context.Context, in *getInput) (*getOutput, error) {
	a, _, err := Load(ctx, web.Tenant(ctx), in.ApprovalID)
	return &getOutput{a.AsOf(now())}, err
}

// Load reads an approval, with the version of its item.
func Load(ctx context.Context, c store.Company, approvalID string) (approval.Approval, int64, error) {
	var a approval.Approval
	item, err := c.Get(ctx, approval.Key(approvalID), &a)
	return a, item.Version, store.Fault(err, "unknown approval")
}
