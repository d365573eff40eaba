package vault

import (
	"context"
	"errors"
	"iter"
)

// Rewrapper wraps data keys again after the wrapping key was replaced.
type Rewrapper interface {
	// Rewrap returns the same data key for the same company, wrapped by the current wrapping key. changed is false if the
	// current key had wrapped it already. Rewrap returns ErrSealed for a key that cannot be unwrapped.
	Rewrap(ctx context.Context, company string, wrapped []byte) (again []byte, changed bool, err error)
}

// ReplaceableKeys reads and replaces wrapped data keys. Only Rewrap needs it.
type ReplaceableKeys interface {
	Get(ctx context.Context, company string) ([]byte, error)
	// Replace stores the key wrapped in place of the key was. It returns ErrKeyExists if the stored key is not was.
	Replace(ctx context.Context, company string, was, wrapped []byte) error
}

// Rewrapped counts companies by the outcome of Rewrap.
type Rewrapped struct {
	Rewrapped int `json:"rewrapped"` // now wrapped by the current key
	Current   int `json:"current"`   // already wrapped by the current key
	Without   int `json:"without"`   // without a data key: nothing was ever sealed for them
	Failed    int `json:"failed"`
}

// Rewrap wraps the data key of every company by the current wrapping key. The data keys do not change, so every sealed text
// stays valid. The service may run at the same time if it can also unwrap by the former key. If a company fails, Rewrap
// calls failed and continues with the next company. A caller may cancel Rewrap and call it again: Rewrap recognizes finished
// companies. When ctx ends, Rewrap returns the error of ctx, and no count includes the companies that remain.
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

// rewrap retries when a concurrent run has replaced the key.
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
