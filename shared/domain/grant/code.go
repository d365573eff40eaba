package grant

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/sso"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
)

// The entity and the prefix of the key of a code's item. The key ends with the hash of a secret, so that a reader of the store cannot
// exchange the code.
const (
	codeEntity = "grant-code"
	codePrefix = "GRANTCODE#"
	codeMark   = "grant." // begins a code, so that no code of a sign-in has its form
)

// CodeLifetime is how long a code can be exchanged.
const CodeLifetime = time.Minute

// Code leads from a person's consent to a grant.
type Code struct {
	Grant     Grant     `json:"grant"`
	Redirect  string    `json:"redirect"`  // as the third party gave it
	Challenge string    `json:"challenge"` // of PKCE
	Until     time.Time `json:"until"`
	Used      bool      `json:"used,omitempty"`

	version int64
	key     string
}

// Offer returns the write that stores a code, and the code's text.
func Offer(c store.Company, code Code) (text string, op store.Op) {
	secret := sso.Secret()
	return codeMark + c.ID() + "." + secret, c.Create(codePrefix+sso.Hash(secret), codeEntity, code).Quietly().Until(code.Until)
}

// SplitCode returns the company and the secret of a code. ok is false for a text that is no code of a grant.
func SplitCode(text string) (companyID, secret string, ok bool) {
	rest, marked := strings.CutPrefix(text, codeMark)
	companyID, secret, cut := strings.Cut(rest, ".")
	return companyID, secret, marked && cut && id.Valid(companyID) && id.Valid(secret)
}

// ErrReplayed reports a code that was exchanged before.
var ErrReplayed = errors.New("the code was exchanged before")

// ErrCode says that a code is not accepted. It does not tell why.
func ErrCode() error {
	return fault.New(fault.Malformed, "the code is unknown, was used, has expired or belongs to another client; authorize again")
}

// FindCode returns the code of a secret, once the third party has proved that it asked for it: by its client_id, its redirect and the
// verifier of its challenge (RFC 7636 §4.6). For a used code it also returns ErrReplayed.
func FindCode(ctx context.Context, c store.Company, secret, clientID, redirect, verifier string, now time.Time) (Code, error) {
	var code Code
	key := codePrefix + sso.Hash(secret)
	item, err := c.Get(ctx, key, &code)
	if errors.Is(err, store.ErrNotFound) {
		return Code{}, ErrCode()
	}
	if err != nil {
		return Code{}, store.Fault(err, "")
	}
	proved := subtle.ConstantTimeCompare([]byte(sso.Challenge(verifier)), []byte(code.Challenge)) == 1
	if !proved || code.Grant.Client.ID != clientID || code.Redirect != redirect {
		return Code{}, ErrCode()
	}
	code.version, code.key = item.Version, key
	if code.Used {
		return code, ErrReplayed
	}
	if !now.Before(code.Until) {
		return Code{}, ErrCode()
	}
	return code, nil
}

// Lost reports whether err is the conflict of a commit with the code's write: another request was first.
func (code Code) Lost(err error) bool {
	var conflict *store.ConflictError
	return errors.As(err, &conflict) && conflict.Key == code.key
}

// Use returns the write by which a code counts as used. It is remembered while the tokens that it led to are valid.
func (code Code) Use(c store.Company, now time.Time) store.Op {
	code.Used = true
	return c.Replace(code.key, codeEntity, code.version, code).Quietly().Until(now.Add(token.Lifetime))
}
