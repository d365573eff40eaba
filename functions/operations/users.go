package operations

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerUsers(api huma.API) {
	const all, one = "/users", "/users/{userId}"
	write := user.ScopeOperationsWrite
	web.Register(api, operation(http.MethodGet, all, "list-users", "List users",
		"Oldest first, with those who have not accepted their invitation yet.", http.StatusOK, write), listUsers)
	web.Register(api, operation(http.MethodPost, all, "invite-user", "Invite a user",
		"Answers a token that accepts the invitation once, within 24 hours; it is shown only now. If the service has mail settings, it mails "+
			"the token to the address: list-notices shows whether. The user sends it to POST /auth/invitation. A person with a login in another company accepts with its password. Nobody can grant a role with scopes that the own token lacks.",
		http.StatusCreated, write), d.inviteUser)
	web.Register(api, operation(http.MethodGet, one, "get-user", "Get a user",
		"With role and state; never with a password.", http.StatusOK, write), getUser)
	web.Register(api, operation(http.MethodPatch, one, "update-user", "Change a user's name, role or state",
		"A new role or provider, and disabling, end the user's tokens within five seconds, and withdraw the invitations and the requests for "+
			"approvals that the user has begun, also when the new role has more rights. The company keeps at least one founder who can log in.", http.StatusOK, write), d.updateUser)
	web.Register(api, operation(http.MethodDelete, one, "remove-user", "Remove a user",
		"Withdraws the invitation, or ends the user's login and tokens, and withdraws what the user has begun. The company keeps at least one "+
			"founder who can log in.",
		http.StatusNoContent, write), d.removeUser)
}

func listUsers(ctx context.Context, in *web.PageQuery) (*web.PageOutput[user.User], error) {
	after, err := in.After(ctx)
	if err != nil {
		return nil, err
	}
	users, next, err := company.ListUsers(ctx, web.Tenant(ctx), after, in.Size())
	if err != nil {
		return nil, err
	}
	return web.NewPage(ctx, users, next), nil
}

// UserInvite holds the user to invite.
type UserInvite struct {
	Email    string    `json:"email" format:"email" maxLength:"254" doc:"the address that the user will log in with" example:"grace@example.com"`
	Name     string    `json:"name,omitempty" maxLength:"200" doc:"the user's name" example:"Grace Hopper"`
	Role     user.Role `json:"role" enum:"founder,member,operator,integration" doc:"decides the scopes of the user's tokens" example:"member"`
	Provider string    `json:"provider,omitempty" maxLength:"64" doc:"the only integration that a user with the role integration reaches; required for that role" example:"github"`
}

// InvitedUser answers an invitation with its token.
type InvitedUser struct {
	user.User
	InvitationToken string `json:"invitationToken" doc:"accepts the invitation; shown only once"`
}

type invitedOutput struct {
	ETag string `header:"ETag"`
	Body InvitedUser
}

func (d Deps) inviteUser(ctx context.Context, in *struct{ Body UserInvite }) (*invitedOutput, error) {
	if err := mayManage(ctx, in.Body.Role); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	invited, err := company.NewInvitation(c.ID(), web.CallerOf(ctx).UserID, company.NewUser{
		Email: in.Body.Email, Name: in.Body.Name, Role: in.Body.Role, Provider: in.Body.Provider,
	}, d.Now())
	if err != nil {
		return nil, err
	}
	web.Affects(ctx, "operations"+userPath(invited.User.ID))
	told, err := d.invitation(ctx, c, invited)
	if err != nil {
		return nil, err
	}
	if err := company.Invite(ctx, d.store(ctx), c, invited, told.Create(c)...); err != nil {
		return nil, err
	}
	return &invitedOutput{
		ETag: web.ETag(userRevision(invited.User, invited.Version)), Body: InvitedUser{User: invited.User, InvitationToken: invited.Token},
	}, nil
}

func userPath(userID string) string { return "/users/" + userID }

// UserInput holds the path parameter of the operations on one user.
type UserInput struct {
	UserID string `path:"userId" maxLength:"64" doc:"The user's id"`
}

// UserChangeInput holds the parameters of a change to a user.
type UserChangeInput struct {
	UserInput
	web.IfMatch
}

func getUser(ctx context.Context, in *struct {
	UserInput
	web.IfNoneMatch
}) (*web.Tagged[user.User], error) {
	u, version, err := company.GetUser(ctx, web.Tenant(ctx), in.UserID)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, web.ETag(userRevision(u, version)), web.Ready(u))
}

// UserUpdate says what to change about a user. An absent field stays as it is.
type UserUpdate struct {
	Name     *string    `json:"name,omitempty" maxLength:"200" doc:"the user's name" example:"Grace Hopper"`
	Role     *user.Role `json:"role,omitempty" enum:"founder,member,operator,integration" doc:"the new role" example:"operator"`
	Provider *string    `json:"provider,omitempty" maxLength:"64" doc:"the only integration that the user reaches, with the role integration" example:"github"`
	Disabled *bool      `json:"disabled,omitempty" doc:"true: the user cannot log in; false: the user can again" example:"true"`

	ResumeMails bool `json:"resumeMails,omitempty" doc:"true: mails go to the user's address again, although it refused one or one was unwanted; see mailRefusedAt" example:"true"`
}

type userOutput struct {
	ETag string `header:"ETag"`
	Body user.User
}

func (d Deps) updateUser(ctx context.Context, in *struct {
	UserChangeInput
	Body UserUpdate
}) (*userOutput, error) {
	u, version, err := d.toChange(ctx, in.UserChangeInput)
	if err != nil {
		return nil, err
	}
	if in.Body.Role != nil {
		if err := mayManage(ctx, *in.Body.Role); err != nil {
			return nil, err
		}
	}
	change := company.Change{Name: in.Body.Name, Role: in.Body.Role, Provider: in.Body.Provider, Disabled: in.Body.Disabled, ResumeMails: in.Body.ResumeMails, By: web.CallerOf(ctx).UserID}
	u, version, err = company.ChangeUser(ctx, d.store(ctx), web.Tenant(ctx), u, version, change, d.Now())
	if err != nil {
		return nil, in.Overtaken(err)
	}
	return &userOutput{ETag: web.ETag(userRevision(u, version)), Body: u}, nil
}

func (d Deps) removeUser(ctx context.Context, in *UserChangeInput) (*struct{}, error) {
	u, version, err := d.toChange(ctx, *in)
	if err != nil {
		return nil, err
	}
	return nil, in.Overtaken(company.RemoveUser(ctx, d.store(ctx), web.Tenant(ctx), u, version, d.Now()))
}

// toChange reads a user whom the caller may change, at the version of If-Match.
func (d Deps) toChange(ctx context.Context, in UserChangeInput) (user.User, int64, error) {
	u, version, err := company.GetUser(ctx, web.Tenant(ctx), in.UserID)
	if err != nil {
		return u, 0, err
	}
	if err := mayManage(ctx, u.Role); err != nil {
		return u, 0, err
	}
	return u, version, in.Check(userRevision(u, version))
}

// mayManage refuses a caller who lacks a scope of a role. An operator can therefore neither become a founder nor remove one.
func mayManage(ctx context.Context, role user.Role) error {
	caller := web.CallerOf(ctx)
	for _, scope := range role.Scopes() {
		if !caller.Has(scope) {
			return fault.Newf(fault.InsufficientScope, "your token lacks %s, a scope of the role %s; only a user who has all scopes of a role manages its users", scope, role)
		}
	}
	return nil
}

// userRevision identifies one version of one user.
func userRevision(u user.User, version int64) string {
	return fmt.Sprintf("%d-%x", version, u.CreatedAt.UnixMilli())
}

// store returns the store for commits that also write logins, which are outside of the company's partition.
func (d Deps) store(ctx context.Context) store.Store { return web.Recorded(ctx, d.Store) }
