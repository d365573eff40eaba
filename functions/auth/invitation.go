package auth

import (
	"context"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// InvitationRequest holds the token of an invitation, and a password unless the invited person is logged in.
type InvitationRequest struct {
	Token    string `json:"token" doc:"the token that the invitation showed" maxLength:"256" format:"password"`
	Password string `json:"password,omitempty" doc:"the password of the person's login; for a person without a login, the new password; absent: the person is logged in" maxLength:"1024" format:"password" example:"correct horse battery staple"`
}

type invitationInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
	Body          InvitationRequest
}

// acceptInvitation counts the try before it compares the password with those of the address, as a login does.
func (d Deps) acceptInvitation(ctx context.Context, in *invitationInput) (*loginOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	invitation, err := company.OpenInvitation(ctx, d.Store, in.Body.Token)
	if err != nil {
		return nil, err
	}
	found, err := d.countAddress(ctx, store.Login(invitation.User.Email))
	if err != nil {
		return nil, err
	}
	consent, by := company.Consent{Password: in.Body.Password}, proof{At: d.Now(), Methods: []string{byPassword}}
	if in.Body.Password == "" && in.Authorization != "" {
		if consent, by, err = d.present(ctx, in.Authorization); err != nil {
			return nil, err
		}
	}
	d.invited(ctx, invitation)
	account, login, err := invitation.Accept(ctx, web.Recorded(ctx, d.Store), d.Hasher, found.accounts, consent, d.Now())
	if err != nil {
		return nil, err
	}
	return d.open(ctx, by, login, others(account, login.CompanyID)...)
}

// invited names the invited user in the audit record of the request.
func (d Deps) invited(ctx context.Context, i company.Invitation) {
	web.Identify(ctx, i.Company(), web.Caller{UserID: i.User.ID, Company: i.Company().ID(), Role: string(i.User.Role)})
	web.Affects(ctx, "operations/users/"+i.User.ID)
}

// present returns the consent of a person who is logged in, and how the person logged in: the token is a user's own, and not one of a
// client or an executive. The token of the new company ends with it, so that invitations do not renew a stolen one.
func (d Deps) present(ctx context.Context, authorization string) (company.Consent, proof, error) {
	_, text, _ := strings.Cut(authorization, " ")
	claims, err := web.Verified(ctx, text)
	if err != nil {
		return company.Consent{}, proof{}, err
	}
	if claims.Client != "" {
		return company.Consent{}, proof{}, fault.New(fault.Forbidden, "only a person accepts an invitation; send the token of a user who logged in")
	}
	if err := d.goesOn(ctx, claims.Company, sessionOf(claims)); err != nil {
		return company.Consent{}, proof{}, err
	}
	by := proofOf(claims)
	return company.Consent{CompanyID: claims.Company, UserID: claims.Subject, Strong: by.strong()}, by, nil
}

// others returns the logins of a person in other companies.
func others(a company.Account, companyID string) []user.Login {
	return slices.DeleteFunc(a.Open(), func(l user.Login) bool { return l.CompanyID == companyID })
}
