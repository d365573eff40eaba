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
// is not accepted leaves nothing. The e-mail address gets its login in this company when the invitation is accepted. Invite returns fault.Conflict for the address of a user of this company.
func Invite(ctx context.Context, st store.Store, c store.Company, in Invited) error {
	if err := free(ctx, st, c.ID(), in.User.Email); err != nil {
		return err
	}
	_, _, secret, _ := splitInvitation(in.Token)
	until := *in.User.InvitedUntil
	ops := []store.Op{
		c.Create(user.Key(in.User.ID), user.Entity, in.User).Quietly().Until(until),
		c.Create(invitationKey(in.User.ID), invitationEntity, invitation{Hash: hashOf(secret), By: in.By}).Quietly().Until(until),
	}
	ops, err := withCompany(ctx, c, ops, user.User{}, in.User)
	if err != nil {
		return err
	}
	return store.Fault(st.Commit(ctx, ops...), noUser)
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

// Accept turns the invited user of a token into one who logs in with pass. It calls found before it commits. It returns fault.Unauthenticated for a token that accepts nothing, and fault.Conflict if the e-mail
// address has got a login in the meantime.
func Accept(ctx context.Context, st store.Store, hasher *password.Hasher, text, pass string, now time.Time, found func(store.Company, user.User)) (user.Login, error) {
	companyID, userID, secret, ok := splitInvitation(text)
	if !ok {
		return user.Login{}, errInvitation()
	}
	c := store.For(st, companyID)
	stored, stamped, err := readInvitation(ctx, c, userID)
	if fault.KindOf(err) == fault.NotFound || err == nil && subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(stored.Hash)) != 1 {
		return user.Login{}, errInvitation()
	}
	if err != nil {
		return user.Login{}, err
	}
	u, version, err := GetUser(ctx, c, userID)
	if err != nil {
		return user.Login{}, err
	}
	if err := user.Halted(ctx, c); err != nil {
		return user.Login{}, err
	}
	invites, err := stored.vouched(ctx, c, u)
	if err != nil {
		return user.Login{}, err
	}
	if err := free(ctx, st, companyID, u.Email); err != nil {
		return user.Login{}, err
	}
	if err := fault.Refuse(password.Check(pass, "/password", user.Words(u.Email, u.Name)...)); err != nil {
		return user.Login{}, err
	}
	hash, err := hashFor(ctx, st, hasher, u.Email, pass)
	if err != nil {
		return user.Login{}, err
	}
	found(c, u)
	was := u
	u.State, u.InvitedUntil, u.Since = user.Active, nil, stamp(now)
	ops := []store.Op{
		addLogin(c, u, hash),
		c.Replace(user.Key(u.ID), user.Entity, version, u),
		c.Delete(invitationKey(u.ID), invitationEntity, stamped).Quietly(),
	}
	ops = append(ops, invites...)
	if ops, err = withCompany(ctx, c, ops, was, u); err != nil {
		return user.Login{}, err
	}
	if err := commit(ctx, st, ops); err != nil {
		return user.Login{}, err
	}
	return user.Login{CompanyID: companyID, UserID: u.ID, PasswordHash: hash, Role: u.Role, Provider: u.Provider}, nil
}
