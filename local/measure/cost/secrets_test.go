package main

import (
	"orgops/functions/rotator"
	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// tokenKeys holds the two secrets of the token keys after their first rotation.
type tokenKeys struct {
	*world
	signing *awstest.Secret
	secrets tokensecret.Secrets
}

func (w *world) tokenKeys() *tokenKeys {
	w.t.Helper()
	direct, access := moto.Access(w.t), w.others.Access()
	signing, published := awstest.NewSecret(w.t, direct), awstest.NewSecret(w.t, direct)
	signing.Set(w.t, "{}")
	published.Set(w.t, `{"cursor": "a text of some length"}`)
	k := &tokenKeys{world: w, signing: signing, secrets: tokensecret.Secrets{
		Signing: tokensecret.Open(access, signing.ARN), Published: tokensecret.Open(access, published.ARN),
	}}
	k.rotation()()
	return k
}

// rotation begins a rotation and returns a function that does the rotator's part.
func (k *tokenKeys) rotation() func() {
	version := k.signing.BeginRotation(k.t)
	r := &rotator.Rotator{Signing: k.secrets.Signing, Published: k.secrets.Published, Now: k.clock.Now}
	return func() {
		for _, step := range []string{"createSecret", "setSecret", "testSecret", "finishSecret"} {
			errtest.Must(k.t, r.Handle(k.t.Context(), rotator.Event{Step: step, Version: version}))
		}
	}
}

func (w *world) rotates() func() { return w.tokenKeys().rotation() }

// starts returns the start of a process with the token keys.
func (w *world) starts(signs bool) func() {
	secrets, logger := w.tokenKeys().secrets, w.fresh().Logger
	if !signs {
		secrets.Signing = nil
	}
	return func() {
		_, err := tokensecret.NewKeyring(w.t.Context(), secrets, token.Config{Issuer: "cost", Audience: "cost", Now: w.clock.Now}, logger, w.clock.Now)
		errtest.Must(w.t, err)
	}
}
