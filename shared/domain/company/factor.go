package company

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/totp"
	"orgops/shared/storage/store"
)

// Vault seals what the service must be able to read of a person's factors.
type Vault interface {
	Seal(ctx context.Context, company, label string, plaintext []byte) ([]byte, error)
	Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error)
}

// PersonsKey names the data key that seals the secrets of persons' factors. A person belongs to no single company, so no company's key
// may seal them. No company has this id.
const PersonsKey = "persons"

// Limits of second factors.
const (
	MaxFactors    = 3
	RecoveryCodes = 10
	EnrolmentKept = 10 * time.Minute // of an authenticator app; a passkey has as long as a challenge, ChallengeKept

	// MaxWrongCodes bounds the wrong codes of a person in WrongKept, also if right ones are between. With three right codes in a
	// million for each of MaxFactors it lets a person who knows the password guess right in 15 months on average.
	MaxWrongCodes = 10
	WrongKept     = time.Hour
)

// RequireSecondFactor decides whether the users of a company need a second factor.
func RequireSecondFactor(ctx context.Context, c store.Company, required bool) error {
	is, version, err := Get(ctx, c)
	if err != nil || is.SecondFactor == required {
		return err
	}
	is.SecondFactor = required
	return store.Fault(c.Commit(ctx, c.Replace(Key, Entity, version, is)), "there is no such company")
}

// RemoveFactors removes all second factors of the persons with an e-mail address, for the operator of the service, and returns how many
// there were. each returns further writes for a person, such as records.
func RemoveFactors(ctx context.Context, st store.Store, email string, each func(Account) ([]store.Op, error)) (int, error) {
	all, err := Accounts(ctx, st, email)
	if err != nil {
		return 0, err
	}
	removed, ops := 0, []store.Op{}
	for _, a := range all {
		if len(a.Factors) == 0 {
			continue
		}
		removed += len(a.Factors)
		a.Disarm()
		also, err := each(a)
		if err != nil {
			return 0, err
		}
		ops = append(append(ops, a.Writes()...), also...)
	}
	if removed == 0 {
		return 0, fault.New(fault.NotFound, "no person with this e-mail address has a second factor")
	}
	return removed, store.Fault(st.Commit(ctx, ops...), noUser)
}

func factorLabel(factorID string) string { return "factor/" + factorID }

// Kinds lists the kinds of second factors that the person can send.
func (a Account) Kinds() []string {
	var kinds []string
	for _, f := range a.Factors {
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	if len(a.Recovery) > 0 {
		kinds = append(kinds, user.RecoveryCode)
	}
	return kinds
}

// Enrol begins to enrol a TOTP factor and returns its key, which the person must see now. It replaces a factor that was begun before.
func (a *Account) Enrol(ctx context.Context, v Vault, name string, now time.Time) (user.Factor, []byte, error) {
	f, err := a.begin(user.FactorTOTP, name, now)
	if err != nil {
		return f, nil, err
	}
	key := totp.NewKey()
	f.Secret, err = v.Seal(ctx, PersonsKey, factorLabel(f.ID), key)
	a.Enrolling = &f
	return f, key, err
}

// EnrolPasskey begins to enrol a passkey for a challenge. It replaces a factor that was begun before.
func (a *Account) EnrolPasskey(name string, challenge []byte, now time.Time) (user.Factor, error) {
	f, err := a.begin(user.FactorPasskey, name, now)
	if err == nil {
		f.Challenge = challenge
		a.Enrolling = &f
	}
	return f, err
}

func (a *Account) begin(kind, name string, now time.Time) (user.Factor, error) {
	if len(a.Factors) >= MaxFactors {
		return user.Factor{}, fault.Newf(fault.Conflict, "a person has at most %d second factors; remove one first", MaxFactors)
	}
	return user.Factor{ID: id.New(), Kind: kind, Name: name, CreatedAt: stamp(now)}, nil
}

// Enrolled returns the factor that waits for its first proof.
func (a *Account) Enrolled(factorID string, now time.Time) (user.Factor, error) {
	if f := a.Enrolling; f != nil && f.ID == factorID {
		kept := EnrolmentKept
		if f.Kind == user.FactorPasskey {
			kept = ChallengeKept
		}
		if now.Sub(f.CreatedAt) <= kept {
			return *f, nil
		}
	}
	return user.Factor{}, fault.New(fault.NotFound, "there is no such enrolment, or it has expired; begin again")
}

// Proof tries what a person sent for a factor. If it is right, it notes in the factor what was used.
type Proof func(f *user.Factor) (right bool, err error)

// Confirm ends an enrolment with its first proof. The first factor comes with recovery codes, which the person must see now. A wrong proof
// counts as one of a login, and ends the enrolment of a passkey, whose challenge counts once: the caller stores the account in any case.
func (a *Account) Confirm(factorID string, prove Proof, now time.Time) (f user.Factor, recovery []string, right bool, err error) {
	if f, err = a.Enrolled(factorID, now); err != nil {
		return f, nil, false, err
	}
	if err := a.allowed(now); err != nil {
		return f, nil, false, err
	}
	if right, err = prove(&f); err != nil || !right {
		if a.wrong(now); f.Kind == user.FactorPasskey {
			a.Enrolling = nil
		}
		return f, nil, false, err
	}
	a.Enrolling = nil
	f.Challenge = nil
	a.Factors = append(slices.Clone(a.Factors), f)
	if len(a.Factors) == 1 {
		recovery = a.Recover()
	}
	return f, recovery, true, nil
}

// Recover makes new recovery codes in place of those that are left.
func (a *Account) Recover() []string {
	codes := make([]string, RecoveryCodes)
	a.Recovery = make([]string, RecoveryCodes)
	for i := range codes {
		text := rand.Text()[:16] // 80 random bits
		codes[i] = strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
		a.Recovery[i] = hashOf(text)
	}
	return codes
}

// Remove removes a factor. The recovery codes go with the last one.
func (a *Account) Remove(factorID string) error {
	at := slices.IndexFunc(a.Factors, func(f user.Factor) bool { return f.ID == factorID })
	if at < 0 {
		return fault.New(fault.NotFound, "you have no such second factor")
	}
	a.Factors = slices.Delete(slices.Clone(a.Factors), at, at+1)
	if len(a.Factors) == 0 {
		a.Disarm()
	}
	return nil
}

// Disarm removes all that the person has of second factors.
func (a *Account) Disarm() { a.Factors, a.Enrolling, a.Recovery, a.Wrong = nil, nil, nil, nil }

// Prove reports whether a proof is right for a factor, or a code is a recovery code. Each counts once. The caller stores the account in
// any case, before it tells anyone, because a wrong one is counted. Prove returns fault.QuotaExceeded after too many wrong ones.
func (a *Account) Prove(prove Proof, code string, now time.Time) (right bool, err error) {
	if err := a.allowed(now); err != nil {
		return false, err
	}
	a.Factors = slices.Clone(a.Factors)
	for i := range a.Factors {
		if right, err = prove(&a.Factors[i]); err != nil || right {
			break
		}
	}
	if err == nil && !right {
		right = a.recovers(code)
	}
	if err == nil && !right {
		a.wrong(now)
	}
	return right, err
}

// recovers uses a recovery code up. It compares with all of them.
func (a *Account) recovers(code string) bool {
	digest, found := hashOf(strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))), -1
	for i, left := range a.Recovery {
		if subtle.ConstantTimeCompare([]byte(left), []byte(digest)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	a.Recovery = slices.Delete(slices.Clone(a.Recovery), found, found+1)
	return true
}

func (a *Account) allowed(now time.Time) error {
	if a.Wrong == nil || a.Wrong.Count < MaxWrongCodes {
		return nil
	}
	wait := a.Wrong.Since.Add(WrongKept).Sub(now)
	if wait <= 0 {
		a.Wrong = nil
		return nil
	}
	f := fault.New(fault.QuotaExceeded, "too many wrong codes; wait and try again")
	f.RetryAfter = wait
	return f
}

func (a *Account) wrong(now time.Time) {
	count := user.Wrong{Since: stamp(now)}
	if a.Wrong != nil && now.Sub(a.Wrong.Since) < WrongKept {
		count = *a.Wrong
	}
	count.Count++
	a.Wrong = &count
}

// ByCode proves a factor by a code of an authenticator app, and uses its step up.
func ByCode(ctx context.Context, v Vault, code string, now time.Time) Proof {
	return func(f *user.Factor) (bool, error) {
		if f.Kind != user.FactorTOTP {
			return false, nil
		}
		key, err := v.Open(ctx, PersonsKey, factorLabel(f.ID), f.Secret)
		if err != nil {
			return false, err
		}
		step, ok := totp.Check(key, strings.ReplaceAll(code, " ", ""), f.Step, now)
		if ok {
			f.Step, f.UsedAt = step, stamp(now)
		}
		return ok, nil
	}
}
