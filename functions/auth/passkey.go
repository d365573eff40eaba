package auth

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/passkey"
)

// party returns the service as browsers know it. Passkeys are made for its current address, where the console is.
func (d Deps) party() (passkey.Party, bool) {
	if len(d.Issuers) == 0 {
		return passkey.Party{}, false
	}
	return passkey.NewParty(d.Issuers[0], issuerName)
}

func errNoParty() error {
	return fault.New(fault.Conflict, "browsers make passkeys for a name and https alone, and the service has another address; enrol an authenticator app, or ask the operator to set ORGOPS_ISSUER")
}

// passkeysOf returns the passkeys of an account.
func passkeysOf(account company.Account) (keys []passkey.Key) {
	for _, f := range account.Factors {
		if f.Passkey != nil {
			keys = append(keys, passkey.Key(*f.Passkey))
		}
	}
	return keys
}

// beginPasskey begins to enrol a passkey and returns the options for the browser.
func (d Deps) beginPasskey(account *company.Account, u user.User, name string) (user.Factor, *passkey.Creation, error) {
	party, ok := d.party()
	if !ok {
		return user.Factor{}, nil, errNoParty()
	}
	challenge := passkey.NewChallenge()
	f, err := account.EnrolPasskey(name, challenge, d.Now())
	options := party.Creation(challenge, f.ID, u.Email, passkeysOf(*account), company.ChallengeKept)
	return f, &options, err
}

// registers proves a passkey that waits for its registration by what the browser made.
func (d Deps) registers(response json.RawMessage, now time.Time, known []passkey.Key) company.Proof {
	return func(f *user.Factor) (bool, error) {
		party, ok := d.party()
		if !ok || f.Kind != user.FactorPasskey {
			return false, nil
		}
		key, made := party.Register(f.Challenge, f.ID, response)
		if !made || slices.ContainsFunc(known, func(k passkey.Key) bool { return slices.Equal(k.ID, key.ID) }) {
			return false, nil
		}
		kept := user.Passkey(key)
		f.Passkey, f.UsedAt = &kept, now.UTC()
		return true, nil
	}
}

// signs proves a passkey by its signature of a challenge. The error is a copiedError if the passkey was copied.
func (d Deps) signs(challenge []byte, signature json.RawMessage, now time.Time) company.Proof {
	party, ok := d.party()
	return func(f *user.Factor) (bool, error) {
		if !ok || f.Passkey == nil || len(challenge) == 0 {
			return false, nil
		}
		key, signed, err := party.Verify(challenge, f.ID, passkey.Key(*f.Passkey), signature)
		if errors.Is(err, passkey.ErrCopied) {
			return false, copiedError{f.Name}
		}
		if err != nil || !signed {
			return false, err
		}
		kept := user.Passkey(key)
		f.Passkey, f.UsedAt = &kept, now.UTC()
		return true, nil
	}
}

// copiedError says which passkey was copied.
type copiedError struct{ name string }

func (e copiedError) Error() string { return passkey.ErrCopied.Error() }

func errCopied() error {
	return fault.New(fault.Unauthenticated, "the passkey has signed with a higher count before, so another device may hold a copy of it; log in with another factor, and remove this one")
}

// request returns what a passkey of the account signs to answer a challenge, and the options for the browser; nil without a passkey.
func (d Deps) request(account company.Account) (sign []byte, options *fault.PasskeyRequest) {
	keys := passkeysOf(account)
	if len(keys) == 0 {
		return nil, nil
	}
	party, ok := d.party()
	if !ok {
		return nil, nil
	}
	sign = passkey.NewChallenge()
	r := party.Request(sign, keys, company.ChallengeKept)
	return sign, &r
}
