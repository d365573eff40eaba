package company

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// ChallengeKept is how long a person who has proved the password may send the second factor.
const ChallengeKept = 5 * time.Minute

const (
	challengeEntity = "challenge"
	challengeKey    = "CHALLENGE"
)

// challenge says who has proved a password, and for which company. Only a hash of its id is stored, as the partition. A new password and
// signing out everywhere change the login's generation, so they end the challenge too.
type challenge struct {
	Address    string    `json:"address"` // the partition of the e-mail address
	Person     string    `json:"person"`
	CompanyID  string    `json:"companyId"`
	Generation int64     `json:"generation"`
	Until      time.Time `json:"until"`
	Passkey    []byte    `json:"passkey,omitempty"` // what a passkey signs
}

// Challenge makes a challenge for the person's second factor, for a login of the person. A passkey would sign the text sign.
func (a Account) Challenge(login user.Login, sign []byte, now time.Time) (*fault.Challenge, store.Op) {
	out := &fault.Challenge{ID: rand.Text(), Factors: a.Kinds(), ExpiresAt: stamp(now.Add(ChallengeKept))}
	return out, store.Secret(out.ID).Entry(challengeKey, challengeEntity, 0, challenge{
		Address: a.partition.String(), Person: a.ID, CompanyID: login.CompanyID, Generation: login.Generation, Until: out.ExpiresAt, Passkey: sign,
	}).Until(out.ExpiresAt)
}

// Challenged holds a person who has proved the password, and the login that a second factor leads to.
type Challenged struct {
	Account Account
	Login   user.Login
	Used    store.Op // uses the challenge up
	Passkey []byte   // what a passkey signs; nil: the person had none
}

func errChallenge() error {
	return fault.New(fault.Unauthenticated, "the challenge is unknown, used or expired; log in again")
}

// OpenChallenge returns who a challenge is for. It returns fault.Unauthenticated for a challenge that counts no more.
func OpenChallenge(ctx context.Context, st store.Store, challengeID string, now time.Time) (Challenged, error) {
	var of challenge
	at := store.Secret(challengeID)
	item, err := st.Get(ctx, at, challengeKey)
	if err == nil {
		err = item.Decode(&of)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(of.Until) {
		return Challenged{}, errChallenge()
	}
	if err != nil {
		return Challenged{}, store.Fault(err, "")
	}
	p, ok := store.Restore(of.Address)
	if !ok {
		return Challenged{}, errChallenge()
	}
	items, err := itemsOf(ctx, st, p)
	if err != nil {
		return Challenged{}, err
	}
	all, err := AccountsIn(p, items)
	if err != nil {
		return Challenged{}, err
	}
	out := Challenged{Passkey: of.Passkey, Used: deletion(at, challengeKey, challengeEntity, item.Version)}
	for _, a := range all {
		is := func(m Member) bool {
			return m.CompanyID == of.CompanyID && m.Generation == of.Generation && !m.Disabled
		}
		if n := slices.IndexFunc(a.Members, is); a.ID == of.Person && n >= 0 {
			out.Account, out.Login = a, a.Members[n].Login
			return out, nil
		}
	}
	return Challenged{}, errChallenge()
}
