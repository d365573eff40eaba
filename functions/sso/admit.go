package sso

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// admit ends a sign-in: it finds or makes the user, and leads back to the client with a code.
func (d Deps) admit(ctx context.Context, s signIn, who company.Identity, more ...store.Op) (*redirectOutput, error) {
	if user.CheckName(who.Name, "", false) != nil {
		who.Name = ""
	}
	who.Follows, who.Link = s.config.Roles.Claim != "", s.config.LinkExisting
	u, err := company.SignIn(ctx, d.Store, s.company, who, d.Now())
	if err != nil {
		return nil, err
	}
	web.Identify(ctx, s.company, web.Caller{UserID: u.ID, Company: s.company.ID(), Role: string(u.Role)})
	web.Affects(ctx, "operations/users/"+u.ID)
	code, op := sso.Grant(s.company, sso.Code{
		UserID: u.ID, Identity: who.Key, Asked: s.try.Asked, Until: d.Now().Add(sso.CodeLifetime).UTC(),
	})
	err = web.Recorded(ctx, d.Store).Commit(ctx, append(more, op)...)
	if errors.Is(err, store.ErrConflict) {
		return nil, fault.Wrap(fault.Unauthenticated, "the identity provider's answer was used before; sign in again", err)
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return leadTo(d.end(s.try.Asked, code)), nil
}

// end returns the address where a sign-in ends. The client gets code and state in the query of its redirect (RFC 6749
// §4.1.2), the console in the fragment, which no server sees.
func (d Deps) end(asked sso.Asked, code string) string {
	answer := url.Values{"code": {code}}
	if asked.Redirect != "" {
		return answered(asked, answer)
	}
	if asked.State != "" {
		answer.Set("state", asked.State)
	}
	return d.Base + "/console/index.html#/sso?" + answer.Encode()
}

// answered returns the client's redirect, which was checked at the start, with an answer and the client's state.
func answered(asked sso.Asked, answer url.Values) string {
	if asked.State != "" {
		answer.Set("state", asked.State)
	}
	separator := "?"
	if strings.Contains(asked.Redirect, "?") {
		separator = "&"
	}
	return asked.Redirect + separator + answer.Encode()
}

// refused logs why a sign-in failed, for the operator, and tells the user briefly.
func (d Deps) refused(ctx context.Context, companyID string, cause error) error {
	d.Logger.WarnContext(ctx, "sign-in refused", "company", companyID, "error", cause)
	return fault.Wrap(fault.Unauthenticated, "the identity provider's answer was refused: "+outbound.Explain(cause), cause)
}
