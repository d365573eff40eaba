// Package rotator makes a new signing key of tokens in the four steps in which Secrets Manager has a secret rotated. Its
// public half is published before the key can be used, and published some time before it signs, so that every process
// that verifies knows it by then. The keys before stay for as long as tokens that they signed are good.
package rotator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/shared/token"
)

// Event is what Secrets Manager sends.
type Event struct {
	Step     string `json:"Step"`
	SecretID string `json:"SecretId"`
	Version  string `json:"ClientRequestToken"` // of the secret, to be made current
}

// Signing is the secret that is rotated: the signing keys.
type Signing interface {
	// Stages is the stages of each version, AWSCURRENT and AWSPENDING among them.
	Stages(ctx context.Context) (map[string][]string, error)
	// Value is the text of a version, "" for the current one, and whether it has one.
	Value(ctx context.Context, version string) (text []byte, found bool, err error)
	// Pend gives the pending version its text, once.
	Pend(ctx context.Context, version string, text []byte) error
	// Promote makes a version the current one.
	Promote(ctx context.Context, version string) error
}

// Published is the secret that verifying processes read: the member "keys" is theirs, all others stay as they are.
type Published interface {
	Value(ctx context.Context, version string) (text []byte, found bool, err error)
	Replace(ctx context.Context, text []byte) error
}

// Rotator rotates one pair of secrets, whatever an event says that it is about. All fields are required.
type Rotator struct {
	Signing   Signing
	Published Published
	Now       func() time.Time
}

// Handle does one step. Each may be repeated, and a rotation that ended between two of them is gone on with, or begun
// anew with another version.
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
	return fmt.Errorf("%q is no step of a rotation", e.Step)
}

// Rotate does all steps at once, for an operator. The version's name is a new one, of 32 to 64 characters.
func (r *Rotator) Rotate(ctx context.Context, version string) error {
	for _, step := range []func(context.Context, string) error{r.create, r.publish, r.test, r.Signing.Promote} {
		if err := step(ctx, version); err != nil {
			return err
		}
	}
	return nil
}

// create gives the version its keys: a new one, and those of the current version.
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
	text, err := set.Encode()
	if err != nil {
		return err
	}
	return r.Signing.Pend(ctx, version, text)
}

// current is the keys that sign now, with the times that were published; none in a secret as it is deployed.
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
	if within, err := set.Within(keys); err == nil { // or else this rotation mends what is published
		set = within
	}
	return set, nil
}

// publish tells those who verify. The time from which the key signs counts from here.
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

// test finds out whether what the version's key signs will be accepted.
func (r *Rotator) test(ctx context.Context, version string) error {
	set, err := r.pending(ctx, version)
	if err != nil {
		return err
	}
	_, keys, err := r.published(ctx)
	if err == nil && !keys.Has(set.Current) {
		err = fmt.Errorf("key %s is not published", set.Current.ID())
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

// published is all that the published secret holds, and the keys of it: none, as it is deployed.
func (r *Rotator) published(ctx context.Context) (map[string]json.RawMessage, token.PublicKeys, error) {
	text, found, err := r.Published.Value(ctx, "")
	if err != nil {
		return nil, token.PublicKeys{}, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); !found || err != nil {
		return nil, token.PublicKeys{}, errors.New("the published secret is no JSON object")
	}
	if members["keys"] == nil {
		return members, token.PublicKeys{}, nil
	}
	keys, err := token.ParseJWKS(text)
	return members, keys, err
}
