package company

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

const (
	invitationEntity = "invitation"
	invitationPrefix = "INVITATION#"

	// InvitationKept is how long an invitation can be accepted. Then the invitation and the invited user expire.
	InvitationKept = 24 * time.Hour
)

// invitation holds what is stored of an invitation's token: the hash of its secret part, and who invited.
type invitation struct {
	Hash string `json:"hash"`
	By   string `json:"by,omitempty"` // a user's id; "": no user of the company
}

func invitationKey(userID string) string { return invitationPrefix + userID }

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Invited reports an invitation. The service stores only a hash of Token, so the caller must show it now.
type Invited struct {
	User    user.User
	Version int64
	Token   string
	By      string // the id of the user who invites
}

// NewInvitation makes an invited user and the token that accepts the invitation, without storing anything. by is the id of the user
// who invites. The role and the provider are checked as by AddUser.
func NewInvitation(companyID, by string, in NewUser, now time.Time) (Invited, error) {
	problems := append(user.CheckEmail(in.Email, "/email"), user.CheckName(in.Name, "/name", false)...)
	problems = append(problems, checkRole(in.Role)...)
	if err := fault.Refuse(append(problems, user.CheckProvider(in.Role, in.Provider, "/provider")...)); err != nil {
		return Invited{}, err
	}
	until := stamp(now.Add(InvitationKept))
	u := user.User{
		ID: id.New(), Email: in.Email, Name: in.Name, Role: in.Role, Provider: in.Provider,
		State: user.Invited, InvitedUntil: &until, CreatedAt: stamp(now),
	}
	return Invited{User: u, Version: 1, By: by, Token: strings.Join([]string{companyID, u.ID, rand.Text()}, ".")}, nil
}

// Invite stores an invited user and the hash of the token. The user expires with the invitation, so an invitation that
// is not accepted leaves nothing. The e-mail address gets its login in this company when the invitation is accepted. Invite returns fault.Conflict for the address of a user of this company. also are further writes of
// the same commit.
func Invite(ctx context.Context, st store.Store, c store.Company, in Invited, also ...store.Op) error {
	all, err := Accounts(ctx, st, in.User.Email)
	if err != nil {
		return err
	}
	if err := free(all, c.ID()); err != nil {
		return err
	}
	_, _, secret, _ := splitInvitation(in.Token)
	until := *in.User.InvitedUntil
	ops := []store.Op{
		c.Create(user.Key(in.User.ID), user.Entity, in.User).Quietly().Until(until),
		c.Create(invitationKey(in.User.ID), invitationEntity, invitation{Hash: hashOf(secret), By: in.By}).Quietly().Until(until),
	}
	if ops, err = withCompany(ctx, c, ops, user.User{}, in.User); err != nil {
		return err
	}
	return store.Fault(st.Commit(ctx, append(ops, also...)...), noUser)
}

func splitInvitation(text string) (companyID, userID, secret string, ok bool) {
	companyID, rest, _ := strings.Cut(text, ".")
	userID, secret, _ = strings.Cut(rest, ".")
	return companyID, userID, secret, id.Valid(companyID) && id.Valid(userID) && id.Valid(secret)
}

func readInvitation(ctx context.Context, c store.Company, userID string) (invitation, int64, error) {
	var stored invitation
	item, err := c.Get(ctx, invitationKey(userID), &stored)
	return stored, item.Version, store.Fault(err, "the invitation has expired")
}

// errInvitation returns the only answer for a token that is unknown, used, withdrawn or expired.
func errInvitation() error {
	return fault.New(fault.Unauthenticated, "the invitation is unknown, used or expired; ask for a new one")
}

// Invitation holds an invitation that its token has opened.
type Invitation struct {
	User    user.User
	company store.Company
	version int64 // of the user
	stored  invitation
	stamped int64 // the version of stored
}

// OpenInvitation returns the invitation of a token. It returns fault.Unauthenticated for a token that accepts nothing.
func OpenInvitation(ctx context.Context, st store.Store, text string) (Invitation, error) {
	companyID, userID, secret, ok := splitInvitation(text)
	if !ok {
		return Invitation{}, errInvitation()
	}
	c := store.For(st, companyID)
	stored, stamped, err := readInvitation(ctx, c, userID)
	if fault.KindOf(err) == fault.NotFound || err == nil && subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(stored.Hash)) != 1 {
		return Invitation{}, errInvitation()
	}
	if err != nil {
		return Invitation{}, err
	}
	u, version, err := GetUser(ctx, c, userID)
	return Invitation{User: u, company: c, version: version, stored: stored, stamped: stamped}, err
}

// Company returns the company that invites.
func (i Invitation) Company() store.Company { return i.company }

// Consent says how a person accepts an invitation: with a password, or as a user of a company, who is logged in there.
type Consent struct {
	Password          string
	CompanyID, UserID string
	Strong            bool // the user logged in with a second factor
}

// Accept makes the invited user one who logs in, and returns the account of the person with the login in the company. all has the accounts
// of the address. A password that leads to one of them makes its person a member. Another password makes a person of its own,
// unless the address has a proven person: only that person may accept then, and the password stays.
func (i Invitation) Accept(ctx context.Context, st store.Store, hasher *password.Hasher, all []Account, consent Consent, now time.Time) (Account, user.Login, error) {
	c, u := i.company, i.User
	if err := user.Halted(ctx, c); err != nil {
		return Account{}, user.Login{}, err
	}
	invites, err := i.stored.vouched(ctx, c, u)
	if err != nil {
		return Account{}, user.Login{}, err
	}
	if err := free(all, c.ID()); err != nil {
		return Account{}, user.Login{}, err
	}
	account, err := i.accepts(ctx, hasher, all, consent)
	if err != nil {
		return Account{}, user.Login{}, err
	}
	was := u
	u.State, u.InvitedUntil, u.Since = user.Active, nil, stamp(now)
	if err := account.join(c.ID(), u); err != nil {
		return Account{}, user.Login{}, err
	}
	account.Last = c.ID()
	ops := append(account.Writes(),
		c.Replace(user.Key(u.ID), user.Entity, i.version, u),
		c.Delete(invitationKey(u.ID), invitationEntity, i.stamped).Quietly())
	ops = append(ops, invites...)
	if ops, err = withCompany(ctx, c, ops, was, u); err != nil {
		return Account{}, user.Login{}, err
	}
	return account, account.Members[len(account.Members)-1].Login, commit(ctx, st, ops)
}

// accepts returns the account of the person who accepts.
func (i Invitation) accepts(ctx context.Context, hasher *password.Hasher, all []Account, consent Consent) (Account, error) {
	if consent.UserID != "" {
		account, err := AccountOf(all, consent.CompanyID, consent.UserID)
		switch {
		case fault.KindOf(err) == fault.NotFound:
			return account, fault.New(fault.Forbidden, "the invitation is for another e-mail address than the one that you are logged in with; log out, or log in with the other")
		case err == nil && len(account.Factors) > 0 && !consent.Strong:
			return account, fault.New(fault.SecondFactorRequired, "you have logged in without your second factor; log in again with it, then accept")
		}
		return account, err
	}
	if len(all) > 0 {
		right, err := Matching(ctx, hasher, consent.Password, all)
		if err != nil {
			return Account{}, err
		}
		switch {
		case len(right) > 0 && len(right[0].Factors) > 0:
			return Account{}, fault.New(fault.SecondFactorRequired, "the password is right; log in with your second factor, then accept with the token of that session instead of the password")
		case len(right) > 0:
			return right[0], nil
		case all[0].Proven:
			return Account{}, fault.Refuse([]fault.FieldError{{Pointer: "/password", Detail: "the person with this e-mail address has a login already; send its password, or the token of its session, to accept"}})
		}
	}
	if err := fault.Refuse(password.Check(consent.Password, "/password", user.Words(i.User.Email, i.User.Name)...)); err != nil {
		return Account{}, err
	}
	return newAccount(ctx, hasher, i.User.Email, consent.Password, all)
}
