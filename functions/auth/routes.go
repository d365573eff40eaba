// Package auth is the way in: logging in with e-mail and password, the public keys of the tokens that gives, and
// whether the process is alive.
package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/metric"
	"orgops/shared/password"
	"orgops/shared/store"
	"orgops/shared/token"
	"orgops/shared/web"
)

// Deps is what the group needs.
type Deps struct {
	Store   store.Store
	Hasher  *password.Hasher
	Keys    Keys
	Metrics *metric.Recorder // nil: nothing is measured
	Now     func() time.Time // nil: time.Now
}

// Keys is the keys of tokens in use. Where they have to be read first, an error is fault.Unavailable, and the next use tries
// again.
type Keys interface {
	Signer(ctx context.Context) (*token.Signer, error)
	Public(ctx context.Context) (token.PublicKeys, error) // those that verify, current and previous
}

// AtHand is Keys that have been read.
type AtHand struct {
	Signs    *token.Signer
	Verifies func() token.PublicKeys
}

// Signer implements Keys.
func (k AtHand) Signer(context.Context) (*token.Signer, error) { return k.Signs, nil }

// Public implements Keys.
func (k AtHand) Public(context.Context) (token.PublicKeys, error) { return k.Verifies(), nil }

// Register puts the group's operations on api.
func Register(api huma.API, deps Deps) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	web.Register(api, web.Public(huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/auth/login", Tags: []string{"auth"},
		Summary:     "Log in with e-mail and password",
		Description: "Ten tries a minute for an e-mail address. The answer is the same, and takes as long, whether the address is unknown or the password wrong.",
		Errors:      []int{http.StatusUnauthorized, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	}), deps.login)
	web.Register(api, web.Public(huma.Operation{
		OperationID: "get-keys", Method: http.MethodGet, Path: "/.well-known/jwks.json", Tags: []string{"auth"},
		Summary:     "Get the public keys that verify access tokens",
		Description: "A JSON Web Key Set (RFC 7517): the current key first, then the one before it, whose tokens are still good.",
	}), deps.getKeys)
	web.Register(api, web.Public(huma.Operation{
		OperationID: "get-liveness", Method: http.MethodGet, Path: "/healthz", Tags: []string{"auth"},
		Summary:     "Ask whether the process answers",
		Description: "For load balancers. It looks at nothing else: a store that is away does not make the process unhealthy.",
	}), getLiveness)
}

// keySet is the body of the key document, in its own media type (RFC 7517 §8.5).
type keySet token.JWKSet

// ContentType is the media type of a JWK Set.
func (keySet) ContentType(string) string { return "application/jwk-set+json" }

type keysOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         keySet
}

func (d Deps) getKeys(ctx context.Context, _ *struct{}) (*keysOutput, error) {
	keys, err := d.Keys.Public(ctx)
	if err != nil {
		return nil, err
	}
	return &keysOutput{CacheControl: "public, max-age=300", Body: keySet(keys.JWKS())}, nil
}

type livenessOutput struct {
	Body struct {
		Status string `json:"status" enum:"pass"`
	}
}

func getLiveness(context.Context, *struct{}) (*livenessOutput, error) {
	out := &livenessOutput{}
	out.Body.Status = "pass"
	return out, nil
}
