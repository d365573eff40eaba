package auth

import (
	"context"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// InvitationRequest holds the token of an invitation and the password that the invited user chooses.
type InvitationRequest struct {
	Token    string `json:"token" doc:"the token that the invitation showed" maxLength:"256" format:"password"`
	Password string `json:"password" doc:"the new password" maxLength:"1024" format:"password" example:"correct horse battery staple"`
}

type invitationInput struct{ Body InvitationRequest }

func (d Deps) acceptInvitation(ctx context.Context, in *invitationInput) (*loginOutput, error) {
	if err := d.countSource(ctx, web.Source(ctx)); err != nil {
		return nil, err
	}
	identify := func(c store.Company, u user.User) {
		web.Identify(ctx, store.For(d.Store, c.ID()), web.Caller{UserID: u.ID, Company: c.ID(), Role: string(u.Role)})
		web.Affects(ctx, "operations/users/"+u.ID)
	}
	login, err := company.Accept(ctx, web.Recorded(ctx, d.Store), d.Hasher, in.Body.Token, in.Body.Password, d.Now(), identify)
	if err != nil {
		return nil, err
	}
	return d.open(ctx, login)
}
