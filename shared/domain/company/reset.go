package company

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// ResetKey and ResetEntity name the key and the entity of a Reset in the partition of an e-mail address, and of a code's place.
const (
	ResetEntity = "reset"
	ResetKey    = "RESET"
)

// ResetKept is how long a reset that was asked for can get a code, and how long the code can be used.
const ResetKept = 30 * time.Minute

// Reset says when a reset of an address's password was asked for, and where its code leads from. A known address and an unknown one
// have the same.
type Reset struct {
	AskedAt time.Time   `json:"askedAt,omitzero"` // zero: the code was used
	Asked   []time.Time `json:"asked,omitempty"`  // within the last hour
	Code    string      `json:"code,omitempty"`   // the partition of the code that was made last
}

// Limits of the resets that are asked for in an hour, because each brings a mail: for one address, and from one network.
const (
	MaxResets         = 3
	MaxResetsOfSource = 20
	ResetWindow       = time.Hour
)

// Wait returns how long the next reset has to wait, if most are allowed in an hour; ok is false if it need not.
func (r Reset) Wait(most int, now time.Time) (wait time.Duration, ok bool) {
	if asked := r.recent(now); len(asked) >= most {
		return asked[len(asked)-most].Add(ResetWindow).Sub(now), true
	}
	return 0, false
}

func (r Reset) recent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(r.Asked), func(at time.Time) bool { return now.Sub(at) >= ResetWindow })
}

// save returns the write of a reset over what is stored at version.
func (r Reset) save(p store.Partition, version int64, now time.Time) store.Op {
	return p.Entry(ResetKey, ResetEntity, version, r).Until(now.Add(ResetWindow))
}

// place leads from a code to an e-mail address. Only a hash of the code is stored, as the partition, and only a hash of the address.
type place struct {
	Address string    `json:"address"`
	Until   time.Time `json:"until"`
}

// Ask returns the write that notes at a time that a reset was asked for, for an address or by a network, over what is stored at version.
func (r Reset) Ask(p store.Partition, version int64, now time.Time) store.Op {
	r.AskedAt = stamp(now)
	r.Asked = append(r.recent(now), r.AskedAt)
	return r.save(p, version, now)
}

// ResetsOf returns the resets that were asked for, for an address or by a network, and the version of their item.
func ResetsOf(ctx context.Context, st store.Store, p store.Partition) (r Reset, version int64, err error) {
	item, err := st.Get(ctx, p, ResetKey)
	if errors.Is(err, store.ErrNotFound) {
		return Reset{}, 0, nil
	}
	if err == nil {
		err = item.Decode(&r)
	}
	return r, item.Version, store.Fault(err, "")
}

// ResetCode holds a code with which the person of an address sets a new password, once. Only its receiver may see it: it proves the address.
type ResetCode struct {
	Email     string    `json:"email"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// NewResetCode makes and stores the code of a reset: see MakeResetCode.
func NewResetCode(ctx context.Context, st store.Store, email string, now time.Time) (ResetCode, error) {
	out, ops, err := MakeResetCode(ctx, st, email, now)
	if err != nil {
		return ResetCode{}, err
	}
	return out, store.Fault(st.Commit(ctx, ops...), noUser)
}

// MakeResetCode makes the code of a reset that was asked for, and the writes that store it: an earlier code of the address counts no more
// then. It returns fault.NotFound for an address that is not known, or for which no reset was asked for within ResetKept.
func MakeResetCode(ctx context.Context, st store.Store, email string, now time.Time) (ResetCode, []store.Op, error) {
	p := store.Login(email)
	asked, version, err := ResetsOf(ctx, st, p)
	if err != nil {
		return ResetCode{}, nil, err
	}
	if now.Sub(asked.AskedAt) > ResetKept {
		return ResetCode{}, nil, fault.New(fault.NotFound, "no reset was asked for within 30 minutes for this e-mail address; the person asks by POST /auth/reset")
	}
	all, err := Accounts(ctx, st, email)
	if err != nil {
		return ResetCode{}, nil, err
	}
	if len(all) == 0 {
		return ResetCode{}, nil, fault.New(fault.NotFound, noUser)
	}
	out := ResetCode{Email: email, Code: rand.Text(), ExpiresAt: stamp(now.Add(ResetKept))}
	at := store.Secret(out.Code)
	asked.Code = at.String()
	return out, []store.Op{
		asked.save(p, version, now),
		at.Entry(ResetKey, ResetEntity, 0, place{Address: p.String(), Until: out.ExpiresAt}).Until(out.ExpiresAt),
	}, nil
}

// OpenedReset holds a reset whose code is right.
type OpenedReset struct {
	Accounts []Account
	all      []Account
	words    []string
	consumes []store.Op
}

func errReset() error {
	return fault.New(fault.Unauthenticated, "the code is unknown, used or expired; ask for a new one")
}

// OpenReset returns the reset of a code. It returns fault.Unauthenticated for a code that is unknown, used or expired.
func OpenReset(ctx context.Context, st store.Store, code string, now time.Time) (OpenedReset, error) {
	var of place
	at := store.Secret(code)
	item, err := st.Get(ctx, at, ResetKey)
	if err == nil {
		err = item.Decode(&of)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(of.Until) {
		return OpenedReset{}, errReset()
	}
	if err != nil {
		return OpenedReset{}, store.Fault(err, "")
	}
	p, ok := store.Restore(of.Address)
	if !ok {
		return OpenedReset{}, errReset()
	}
	items, err := itemsOf(ctx, st, p)
	if err != nil {
		return OpenedReset{}, err
	}
	out := OpenedReset{consumes: []store.Op{deletion(at, ResetKey, ResetEntity, item.Version)}}
	for _, known := range items {
		var last Reset
		if known.Key == ResetKey && known.Decode(&last) == nil && last.Code == at.String() {
			out.consumes = append(out.consumes, Reset{Asked: last.Asked}.save(p, known.Version, now)) // what was asked still counts
		}
	}
	if out.all, err = AccountsIn(p, items); err != nil {
		return OpenedReset{}, err
	}
	if len(out.consumes) < 2 || len(out.all) == 0 {
		return OpenedReset{}, errReset()
	}
	out.Accounts = Whole(out.all)
	first := out.Accounts[0].Members[0]
	u, _, err := GetUser(ctx, store.For(st, first.CompanyID), first.UserID)
	out.words = user.Words(u.Email, u.Name)
	return out, err
}

// Set sets the new password, ends all tokens of the person and uses the code up, in one commit. The code proves the address, so
// the password leads to all its logins from then on. Second factors stay.
func (r OpenedReset) Set(ctx context.Context, st store.Store, hasher *password.Hasher, pass string, now time.Time) error {
	if err := fault.Refuse(password.Check(pass, "/password", r.words...)); err != nil {
		return err
	}
	ops, err := replaced(ctx, st, hasher, pass, r.Accounts, r.all, now)
	if err != nil {
		return err
	}
	err = st.Commit(ctx, append(ops, r.consumes...)...)
	if errors.Is(err, store.ErrConflict) {
		return fault.Wrap(fault.Conflict, "the code was used, or the login was changed, at the same time; try again", err)
	}
	return store.Fault(err, noUser)
}
