// Package rotator creates a new token signing key in the four steps of a Secrets Manager rotation. It publishes the public
// half some time before the key signs, so that every verifying process knows the key by then. Previous keys stay published
// as long as the tokens that they signed are valid.
package rotator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/shared/identity/token"
)

// Event holds what Secrets Manager sends.
type Event struct {
	Step     string `json:"Step"`
	SecretID string `json:"SecretId"`
	Version  string `json:"ClientRequestToken"` // of the secret, to be made current
}

// Signing accesses the rotated secret, which holds the signing keys.
type Signing interface {
	// Stages returns the stages of each version, such as AWSCURRENT and AWSPENDING.
	Stages(ctx context.Context) (map[string][]string, error)
	// Value returns the text of a version, "" for the current one, and whether the version has a text.
	Value(ctx context.Context, version string) (text []byte, found bool, err error)
	// Pend sets the text of the pending version, once.
	Pend(ctx context.Context, version string, text []byte) error
	// Promote makes a version the current one.
	Promote(ctx context.Context, version string) error
}

// Published accesses the secret that verifying processes read. The rotator writes its member "keys" and preserves the
// others.
type Published interface {
	Value(ctx context.Context, version string) (text []byte, found bool, err error)
	Replace(ctx context.Context, text []byte) error
}

// Rotator rotates its pair of secrets, even if the event names another secret. All fields are required.
type Rotator struct {
	Signing   Signing
	Published Published
	Now       func() time.Time
}

// Handle does one step. Every step is idempotent. A rotation that stopped between two steps can continue, or start again
// with another version.
func (r *Rotator) Handle(ctx context.Context, e Event) error {
	stages, err := r.Signing.Stages(ctx)
	if err != nil {
		return err
	}
	of, known := stages[e.Version]
	switch {
	case !known || e.Version == "":
		return fmt.Errorf("the secret has no version %q", e.Version)
	case slices.Contains(of, "AWSCURRENT"):
		return nil // done by an earlier try
	case !slices.Contains(of, "AWSPENDING"):
		return fmt.Errorf("version %s of the secret is not pending", e.Version)
	}
	switch e.Step {
	case "createSecret":
		return r.create(ctx, e.Version)
	case "setSecret":
		return r.publish(ctx, e.Version)
	case "testSecret":
		return r.test(ctx, e.Version)
	case "finishSecret":
		if err := r.test(ctx, e.Version); err != nil {
			return err
		}
		return r.Signing.Promote(ctx, e.Version)
	}
	return fmt.Errorf("unknown rotation step %q", e.Step)
}

// Rotate does all steps at once, for an operator. version names the new version with 32 to 64 characters.
func (r *Rotator) Rotate(ctx context.Context, version string) error {
	return r.all(ctx, version, r.create)
}

// Revoke does the same as Rotate, but ends every earlier key. A token of an earlier key is refused as soon as a process reads
// the published keys again. A rotation that stopped between two steps cannot continue, because its version is no longer pending.
func (r *Rotator) Revoke(ctx context.Context, version string) error {
	return r.all(ctx, version, r.createSole)
}

func (r *Rotator) all(ctx context.Context, version string, create func(context.Context, string) error) error {
	for _, step := range []func(context.Context, string) error{create, r.publish, r.test, r.Signing.Promote} {
		if err := step(ctx, version); err != nil {
			return err
		}
	}
	return nil
}

// create sets the version's keys: a new key and the keys of the current version.
func (r *Rotator) create(ctx context.Context, version string) error {
	if _, made, err := r.Signing.Value(ctx, version); err != nil || made {
		return err
	}
	set, err := r.current(ctx)
	if err != nil {
		return err
	}
	key, err := token.NewKey(nil)
	if err != nil {
		return err
	}
	if set, err = set.Rotated(key, r.Now(), token.Lead); err != nil {
		return err
	}
	return r.pend(ctx, version, set)
}

// createSole sets the version's keys to a new key alone.
func (r *Rotator) createSole(ctx context.Context, version string) error {
	key, err := token.NewKey(nil)
	if err != nil {
		return err
	}
	return r.pend(ctx, version, token.Sole(key, r.Now()))
}

func (r *Rotator) pend(ctx context.Context, version string, set token.KeySet) error {
	text, err := set.Encode()
	if err != nil {
		return err
	}
	return r.Signing.Pend(ctx, version, text)
}

// current returns the current signing keys with the published start times. A newly deployed secret has no keys.
func (r *Rotator) current(ctx context.Context) (token.KeySet, error) {
	text, found, err := r.Signing.Value(ctx, "")
	if err != nil {
		return token.KeySet{}, err
	}
	if !found || string(text) == "{}" {
		return token.KeySet{}, nil
	}
	set, err := token.DecodeKeySet(text)
	if err != nil {
		return token.KeySet{}, err
	}
	_, keys, err := r.published(ctx)
	if err != nil {
		return token.KeySet{}, err
	}
	if within, err := set.Within(keys); err == nil { // else this rotation repairs the published secret
		set = within
	}
	return set, nil
}

// publish publishes the version's public keys. The lead time before the new key signs starts here.
func (r *Rotator) publish(ctx context.Context, version string) error {
	set, err := r.pending(ctx, version)
	if err != nil {
		return err
	}
	members, keys, err := r.published(ctx)
	if err != nil || keys.Has(set.Current) {
		return err
	}
	lead := token.Lead
	if len(set.Previous) == 0 {
		lead = 0
	}
	public, err := set.Starting(r.Now().Add(lead)).Public().Encode()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(public, &members); err != nil {
		return err
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return r.Published.Replace(ctx, text)
}

// test checks that tokens signed with the version's key will be accepted.
func (r *Rotator) test(ctx context.Context, version string) error {
	set, err := r.pending(ctx, version)
	if err != nil {
		return err
	}
	_, keys, err := r.published(ctx)
	if err == nil && !keys.Has(set.Current) {
		err = fmt.Errorf("key %s is not published; repeat setSecret", set.Current.ID())
	}
	return err
}

func (r *Rotator) pending(ctx context.Context, version string) (token.KeySet, error) {
	text, found, err := r.Signing.Value(ctx, version)
	if err != nil {
		return token.KeySet{}, err
	}
	if !found {
		return token.KeySet{}, errors.New("the pending version has no value")
	}
	return token.DecodeKeySet(text)
}

// published returns all members of the published secret, and its keys. A newly deployed secret has no keys.
func (r *Rotator) published(ctx context.Context) (map[string]json.RawMessage, token.PublicKeys, error) {
	text, found, err := r.Published.Value(ctx, "")
	if err != nil {
		return nil, token.PublicKeys{}, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); !found || err != nil {
		return nil, token.PublicKeys{}, errors.New("the published secret is not a JSON object")
	}
	if members["keys"] == nil {
		return members, token.PublicKeys{}, nil
	}
	keys, err := token.ParseJWKS(text)
	return members, keys, err
}
