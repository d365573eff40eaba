package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/identity/assertion"
	"orgops/shared/webhook/outbound"
)

// Limits of what is read of a provider.
const (
	providerTimeout = 5 * time.Second
	maxDocument     = 128 << 10 // bytes of a discovery document or a key set
	keysFresh       = 10 * time.Minute
	keysAgain       = 30 * time.Second // between two reads because of a key that is not known
	maxProviders    = 256
)

// federations reads and keeps the keys of OpenID providers. It is safe for concurrent use.
type federations struct {
	client *outbound.Client
	now    func() time.Time

	mu    sync.Mutex
	known map[string]published
}

// published holds the keys of a provider, as read at a time.
type published struct {
	keys []assertion.Key
	err  error // why the keys could not be read
	at   time.Time

	retried time.Time // when a later read failed; the keys go on
}

func newFederations(client *outbound.Client, now func() time.Time) *federations {
	return &federations{client: client, now: now, known: map[string]published{}}
}

// keys returns a provider's keys. It reads them again when they are old, or when none has the id that is looked for.
func (f *federations) keys(ctx context.Context, issuer, keyID string) ([]assertion.Key, error) {
	now := f.now()
	f.mu.Lock()
	found, ok := f.known[issuer]
	f.mu.Unlock()
	has := slices.ContainsFunc(found.keys, func(k assertion.Key) bool { return k.ID() == keyID })
	if age := now.Sub(found.at); ok && age >= 0 && (age < keysAgain || now.Sub(found.retried) < keysAgain || has && age < keysFresh) {
		return found.keys, found.err
	}
	keys, err := f.read(context.WithoutCancel(ctx), issuer) // the caller's end must not count as the provider's failure
	if err != nil && found.err == nil && len(found.keys) > 0 && now.Sub(found.at) < keysFresh {
		f.mu.Lock()
		defer f.mu.Unlock()
		found.retried = now
		f.known[issuer] = found
		return found.keys, nil
	}
	if err != nil {
		e := fault.Wrap(fault.Unavailable, "the keys of the client's identity provider could not be read; try again", err)
		e.RetryAfter = keysAgain
		err = e
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) >= maxProviders {
		clear(f.known)
	}
	f.known[issuer] = published{keys: keys, err: err, at: now}
	return keys, err
}

// read reads the provider's discovery document (OpenID Connect Discovery 1.0 §4), which must be of the issuer, and its keys.
func (f *federations) read(ctx context.Context, issuer string) ([]assertion.Key, error) {
	ctx, stop := context.WithTimeout(ctx, providerTimeout)
	defer stop()
	raw, err := f.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, fmt.Errorf("discovery document: %w", err)
	}
	var discovery struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(raw, &discovery); err != nil {
		return nil, fmt.Errorf("discovery document: %w", err)
	}
	if discovery.Issuer != issuer {
		return nil, errors.New("the discovery document is of another issuer")
	}
	if raw, err = f.get(ctx, discovery.Keys); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return assertion.ParseSet(raw)
}

// get reads one document under the egress rules, without redirects.
func (f *federations) get(ctx context.Context, url string) ([]byte, error) {
	if problems := f.client.CheckURL("", url); len(problems) > 0 {
		return nil, errors.New(problems[0].Detail)
	}
	return fetch(ctx, f.client, url, maxDocument)
}

// statusError reports an answer without a document.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }
