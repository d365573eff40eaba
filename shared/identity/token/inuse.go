package token

import "context"

// Keys returns the token keys in use. An implementation that must first read the keys returns fault.Unavailable if the read
// fails. It then reads again on the next call.
type Keys interface {
	Signer(ctx context.Context) (*Signer, error)
	Public(ctx context.Context) (PublicKeys, error) // the keys that verify, current and previous
}

// AtHand implements Keys with keys that are already in memory.
type AtHand struct {
	Signs    *Signer
	Verifies func() PublicKeys
}

// Signer implements Keys.
func (k AtHand) Signer(context.Context) (*Signer, error) { return k.Signs, nil }

// Public implements Keys.
func (k AtHand) Public(context.Context) (PublicKeys, error) { return k.Verifies(), nil }
