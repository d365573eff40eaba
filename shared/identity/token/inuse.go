package token

import "context"

// Keys gives the token keys in use. An implementation that reads them first returns fault.Unavailable when it cannot, and
// tries again on the next call.
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
