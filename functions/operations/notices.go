package operations

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerNotices(api huma.API) {
	web.Register(api, noticeOperation(http.MethodGet, "/notices", "list-notices", "List what people were told",
		"Each notice with who was told what by which channel, its state and its attempts, newest first. Notices are kept for 90 days. The text of a brief is shown to those who read the brief, and that of a new sign-in to the person alone.",
		http.StatusOK, user.ScopeOperationsRead), listNotices)
	d.registerNoticePreferences(api)
}

// noticeOperation describes an operation on notices, which lie next to the operations.
func noticeOperation(method, path, id, summary, description string, status int, scope string) huma.Operation {
	op := operation(method, path, id, summary, description, status, scope)
	op.Path = "/companies/{companyId}" + path
	return op
}

type noticesInput struct {
	web.PageQuery
	State string `query:"state" enum:"waiting,sent,failed,omitted" doc:"Only notices in this state"`
	Kind  string `query:"kind" enum:"security,approval,alert,brief" doc:"Only notices of this kind"`
	User  string `query:"user" maxLength:"64" doc:"Only notices to the user with this id" example:"0198c5f2-0000-7000-8000-000000000001"`
}

func listNotices(ctx context.Context, in *noticesInput) (*web.PageOutput[notice.Notice], error) {
	keep := func(n notice.Notice) bool {
		return (in.State == "" || string(n.State) == in.State) && (in.Kind == "" || string(n.Kind) == in.Kind) && (in.User == "" || n.UserID == in.User)
	}
	out, err := web.List(ctx, in.PageQuery, store.Query{Prefix: notice.Prefix, Desc: true}, keep, in.State, in.Kind, in.User)
	if err != nil {
		return nil, err
	}
	caller := web.CallerOf(ctx)
	for i, n := range out.Body.Items {
		out.Body.Items[i] = n.For(caller.UserID, caller.Has(user.ScopeIntelligenceRead))
	}
	return out, nil
}

// invitation returns the notice that brings an invited user the token, sealed.
func (d Deps) invitation(ctx context.Context, c store.Company, invited company.Invited) (notice.Stored, error) {
	firm, _, err := company.Get(ctx, c)
	if err != nil {
		return notice.Stored{}, err
	}
	n := notice.Invited(invited.User, firm.Name)
	n.Code, err = d.Vault.Seal(ctx, c.ID(), notice.CodeLabel(n.ID), []byte(invited.Token))
	return n, err
}
