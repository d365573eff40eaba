// Package auth serves the login with e-mail and password, the public keys that verify access tokens, the liveness check and
// the explanations of problem types: every operation that needs no token, except the webhook receiver.
package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/metric"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Deps holds what the group works with.
type Deps struct {
	Store   store.Store
	Hasher  *password.Hasher
	Keys    token.Keys
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time // nil: time.Now
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Store: s.Store, Hasher: password.New(), Keys: s.Keys, Metrics: s.Metrics, Now: s.Now})
}

// TagService is the tag of the operations about the service itself.
const TagService = "service"

// Register adds the group's operations to api.
func Register(api huma.API, deps Deps) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	web.Register(api, web.Public(huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/auth/login", Tags: []string{"auth"},
		Summary:     "Log in with e-mail and password",
		Description: "Each e-mail address has ten tries a minute from one network, an IPv4 address or an IPv6 /64, and 100 in all. An unknown address and a wrong password get the same answer, after the same time.",
		Errors:      []int{http.StatusUnauthorized, http.StatusTooManyRequests}, MaxBodyBytes: maxLogin,
	}), deps.login)
	web.Register(api, web.Public(huma.Operation{
		OperationID: "get-keys", Method: http.MethodGet, Path: "/.well-known/jwks.json", Tags: []string{TagService},
		Summary:     "Get the public keys that verify access tokens",
		Description: "A JSON Web Key Set (RFC 7517): the current key first, then the previous key, whose tokens are still accepted.",
	}), deps.getKeys)
	web.Register(api, web.Public(huma.Operation{
		OperationID: "get-liveness", Method: http.MethodGet, Path: "/healthz", Tags: []string{TagService},
		Summary:     "Check that the process answers",
		Description: "For load balancers. It checks nothing else: the process counts as healthy even when the store is unavailable.",
	}), getLiveness)
	web.RegisterProblemTypes(api, TagService)
}

// keySet encodes the key document in its own media type (RFC 7517 §8.5).
type keySet token.JWKSet

// ContentType returns the media type of a JWK Set.
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

// Liveness says that the process answers.
type Liveness struct {
	Status string `json:"status" doc:"pass: the process answers" enum:"pass"`
}

type livenessOutput struct{ Body Liveness }

func getLiveness(context.Context, *struct{}) (*livenessOutput, error) {
	out := &livenessOutput{}
	out.Body.Status = "pass"
	return out, nil
}
