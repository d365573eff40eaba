package operations

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func registerAudit(api huma.API) {
	web.Register(api, operation(http.MethodGet, "/audit", "list-audit", "List the audit records",
		"Who did what, newest first. Every change and every refused or failed request to change something has a record, logins too; "+
			"reads have none. Of a user's requests that do not succeed, ten a minute have a record. Records are kept for 400 days and "+
			"cannot be changed.", http.StatusOK, user.ScopeOperationsRead), listAudit)
}

type auditInput struct {
	web.PageQuery
	Actor     string    `query:"actor" maxLength:"64" doc:"Only what the user with this id asked for" example:"0198c5f2-0000-7000-8000-000000000001"`
	Operation string    `query:"operation" maxLength:"64" doc:"Only requests for this operation" example:"update-user"`
	Outcome   string    `query:"outcome" enum:"success,failure,denied" doc:"Only requests with this outcome"`
	Since     time.Time `query:"since" doc:"Only records from this time on (RFC 3339)" example:"2026-01-01T00:00:00Z"`
	Until     time.Time `query:"until" doc:"Only records up to this time (RFC 3339)" example:"2026-02-01T00:00:00Z"`
}

func listAudit(ctx context.Context, in *auditInput) (*web.PageOutput[audit.Record], error) {
	if !in.Until.IsZero() && in.Until.Before(in.Since) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "#/query/until", Detail: "must not be before since"}})
	}
	return web.List(ctx, in.PageQuery, in.query(), in.keeps, in.Actor, in.Operation, in.Outcome, in.Since.String(), in.Until.String())
}

// keeps reports whether a record passes the filters.
func (in *auditInput) keeps(r audit.Record) bool {
	return (in.Actor == "" || r.Actor.UserID == in.Actor) && (in.Operation == "" || r.Operation == in.Operation) &&
		(in.Outcome == "" || r.Outcome == in.Outcome)
}

// query returns the range of keys between the requested times: a record's id begins with its time.
func (in *auditInput) query() store.Query {
	q := store.Query{Prefix: audit.Prefix, Desc: true}
	epoch := time.Unix(0, 0) // the earliest time of an id
	if in.Since.After(epoch) {
		q.From = audit.Key(id.First(in.Since))
	}
	if !in.Until.IsZero() {
		until := in.Until
		if until.Before(epoch) {
			until = epoch
		}
		q.To = audit.Key(id.Last(until))
	}
	return q
}
