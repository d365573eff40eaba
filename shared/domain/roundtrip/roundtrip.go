// Package roundtrip stores what leads a browser to another service and back: a secret names it, a cookie binds it to the browser that
// began it, and it counts once.
//
// The secret goes to the other service as the state and comes back with the answer. The cookie stays with the browser. A stranger who
// makes a person follow a link has one of the two at most.
package roundtrip

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Lifetime is how long a round trip may take.
const Lifetime = 10 * time.Minute

// Bound holds what every round trip stores. A kind of round trip embeds it in what it needs at its end.
type Bound struct {
	Browser string    `json:"browser"` // hash of the cookie
	Until   time.Time `json:"until"`
}

// Bind returns the bounds of a round trip that begins now in the browser that holds the cookie.
func Bind(cookie string, now time.Time) Bound { return Bound{Hash(cookie), now.Add(Lifetime).UTC()} }

// Ends returns when the round trip ends.
func (b Bound) Ends() time.Time { return b.Until }

// allows reports whether a browser may end the round trip now.
func (b Bound) allows(cookie string, now time.Time) bool {
	return cookie != "" && subtle.ConstantTimeCompare([]byte(b.Browser), []byte(Hash(cookie))) == 1 && now.Before(b.Until)
}

// Kind names the entity and the prefix of the keys of one kind of round trip. A key ends with the hash of the secret, so that a reader
// of the store cannot end a round trip.
type Kind struct{ Entity, Prefix string }

func (k Kind) key(secret string) string { return k.Prefix + Hash(secret) }

// Trip is a struct that embeds Bound.
type Trip interface {
	Ends() time.Time
	allows(cookie string, now time.Time) bool
}

// Secret makes an unguessable text of 26 characters that fits a URL and a cookie.
func Secret() string { return rand.Text() }

// Hash returns the hash under which a secret is stored.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// State returns the state that names a round trip of a company.
func State(c store.Company, secret string) string { return c.ID() + "." + secret }

// Split returns the company and the secret of a state.
func Split(state string) (companyID, secret string) {
	companyID, secret, _ = strings.Cut(state, ".")
	return companyID, secret
}

// Begin returns the write that stores a round trip under a secret.
func Begin(c store.Company, k Kind, secret string, trip Trip) store.Op {
	return c.Create(k.key(secret), k.Entity, trip).Quietly().Until(trip.Ends())
}

// ErrUnknown reports a round trip that is unknown, was used, has expired or began in another browser.
var ErrUnknown = errors.New("the round trip is unknown, was used, has expired or began in another browser")

// Take removes and returns the round trip under a secret. It returns ErrUnknown unless the round trip began in the browser that holds the
// cookie. The removal is conditional, so only one of several callers gets it. A round trip of a suspended company stays, and Take returns fault.Suspended.
func Take[T Trip](ctx context.Context, c store.Company, k Kind, secret, cookie string, now time.Time) (T, error) {
	var trip, none T
	if !id.Valid(c.ID()) || !id.Valid(secret) {
		return none, ErrUnknown
	}
	item, err := c.Get(ctx, k.key(secret), &trip)
	if errors.Is(err, store.ErrNotFound) || err == nil && !trip.allows(cookie, now) {
		return none, ErrUnknown
	}
	if err != nil {
		return none, store.Fault(err, "")
	}
	if err := user.Halted(ctx, c); err != nil { // after the proof, because a stranger is told nothing of the company
		return none, err
	}
	err = c.Commit(ctx, c.Delete(item.Key, k.Entity, item.Version).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return none, ErrUnknown
	}
	if err != nil {
		return none, store.Fault(err, "")
	}
	return trip, nil
}
