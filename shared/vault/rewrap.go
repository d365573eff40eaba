package vault

import (
	"context"
	"errors"
	"iter"
)

// Rewrapper wraps data keys anew, after the key that wraps them was replaced by another.
type Rewrapper interface {
	// Rewrap is the same data key for the same company, wrapped by the current wrapping key, and whether it was not so
	// already. What cannot be unwrapped is ErrSealed.
	Rewrap(ctx context.Context, company string, wrapped []byte) (again []byte, changed bool, err error)
}

// ReplaceableKeys is a KeyStore whose wrapped keys can be replaced. Only Rewrap needs one.
type ReplaceableKeys interface {
	Get(ctx context.Context, company string) ([]byte, error)
	// Replace stores another wrapping in the place of the one that was; it is ErrKeyExists where another one is there.
	Replace(ctx context.Context, company string, was, wrapped []byte) error
}

// Rewrapped is what became of companies' data keys.
type Rewrapped struct {
	Rewrapped int `json:"rewrapped"` // now wrapped by the current key
	Current   int `json:"current"`   // by it already
	Without   int `json:"without"`   // a data key: nothing was ever sealed for these companies
	Failed    int `json:"failed"`
}

// Rewrap wraps the data key of every company by the current wrapping key. The data keys stay the same, so nothing that
// they seal changes, and the service may run meanwhile, as long as it can unwrap by the former key too. A company that
// fails is told to failed, and the others are gone on with. It may be broken off and repeated: what is done is
// recognized. The error is the context's: what was not looked at is in no count.
func Rewrap(ctx context.Context, companies iter.Seq2[string, error], keys ReplaceableKeys, w Rewrapper, failed func(company string, err error)) (Rewrapped, error) {
	var sum Rewrapped
	for company, err := range companies {
		if ctx.Err() != nil {
			break
		}
		var changed bool
		if err == nil {
			changed, err = rewrap(ctx, company, keys, w)
		}
		switch {
		case errors.Is(err, ErrNoKey):
			sum.Without++
		case ctx.Err() != nil:
		case err != nil:
			sum.Failed++
			failed(company, err)
		case changed:
			sum.Rewrapped++
		default:
			sum.Current++
		}
	}
	return sum, ctx.Err()
}

// rewrap goes again when another one has replaced the key meanwhile.
func rewrap(ctx context.Context, company string, keys ReplaceableKeys, w Rewrapper) (changed bool, err error) {
	for range 3 {
		was, err := keys.Get(ctx, company)
		if err != nil {
			return false, err
		}
		again, changed, err := w.Rewrap(ctx, company, was)
		if err != nil || !changed {
			return false, err
		}
		if err = keys.Replace(ctx, company, was, again); !errors.Is(err, ErrKeyExists) {
			return err == nil, err
		}
	}
	return false, ErrKeyExists
}
