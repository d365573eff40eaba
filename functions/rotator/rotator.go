// Package rotator makes a new signing key of tokens in the four steps in which Secrets Manager has a secret rotated. The
// key before stays in the secret as the previous one, so that tokens in flight are good for their hour.
package rotator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"orgops/shared/token"
)

// Event is what Secrets Manager sends.
type Event struct {
	Step     string `json:"Step"`
	SecretID string `json:"SecretId"`
	Version  string `json:"ClientRequestToken"` // of the secret, to be made current
}

// Secret is the secret that is rotated. Stages are AWSCURRENT and AWSPENDING.
type Secret interface {
	Stages(ctx context.Context) (map[string][]string, error)
	Value(ctx context.Context, stage string) ([]byte, error)
	Pend(ctx context.Context, version string, text []byte) error
	Promote(ctx context.Context, version string) error
}

const (
	current = "AWSCURRENT"
	pending = "AWSPENDING"
)

// Rotator rotates one secret, whatever an event says that it is about.
type Rotator struct{ Secret Secret }

// Handle does one step. Each may be repeated.
func (r *Rotator) Handle(ctx context.Context, e Event) error {
	stages, err := r.Secret.Stages(ctx)
	if err != nil {
		return err
	}
	of, known := stages[e.Version]
	switch {
	case !known || e.Version == "":
		return fmt.Errorf("the secret has no version %q", e.Version)
	case slices.Contains(of, current):
		return nil // done by an earlier try
	case !slices.Contains(of, pending):
		return fmt.Errorf("version %s of the secret is not pending", e.Version)
	}
	switch e.Step {
	case "createSecret":
		return r.create(ctx, e.Version)
	case "setSecret": // there is no other place that has to know the key
		return nil
	case "testSecret":
		return r.test(ctx)
	case "finishSecret":
		return r.Secret.Promote(ctx, e.Version)
	}
	return fmt.Errorf("%q is no step of a rotation", e.Step)
}

// create stores a new version. What the secret holds beside the keys stays.
func (r *Rotator) create(ctx context.Context, version string) error {
	text, err := r.Secret.Value(ctx, current)
	if err != nil {
		return err
	}
	made, err := r.Secret.Value(ctx, pending)
	if _, wrong := token.DecodeKeySet(made); err == nil && wrong == nil && !bytes.Equal(made, text) {
		return nil // by an earlier try
	}
	next, err := Next(text)
	if err != nil {
		return err
	}
	return r.Secret.Pend(ctx, version, next)
}

// test finds out whether the pending version can be used.
func (r *Rotator) test(ctx context.Context) error {
	text, err := r.Secret.Value(ctx, pending)
	if err != nil {
		return err
	}
	_, err = token.DecodeKeySet(text)
	return err
}

// Next is the secret's text with a new key. One without any, as it is deployed, gets its first.
func Next(text []byte) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, errors.New("the secret is no JSON object")
	}
	key, err := token.NewKey(nil)
	if err != nil {
		return nil, err
	}
	set := token.KeySet{Current: key}
	if members["current"] != nil {
		was, err := token.DecodeKeySet(text)
		if err != nil {
			return nil, err
		}
		set = was.Rotated(key)
	}
	encoded, err := set.Encode()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}
