// Package boot puts the parts of the service together: from settings and a backend to what route groups and workers
// ask for. Nothing here knows which backend it is.
package boot

import (
	"log/slog"
	"time"

	"orgops/shared/certify"
	"orgops/shared/config"
	"orgops/shared/connector"
	"orgops/shared/connector/feed"
	"orgops/shared/connector/github"
	"orgops/shared/connector/webhook"
	"orgops/shared/courier"
	"orgops/shared/integration"
	"orgops/shared/outbound"
	"orgops/shared/password"
	"orgops/shared/policy"
	"orgops/shared/queue"
	"orgops/shared/store"
	"orgops/shared/token"
	"orgops/shared/web"
)

// Backend is what differs between the ways to run the service.
type Backend struct {
	Store     store.Store
	Retries   queue.Queue
	Syncs     queue.Queue
	Vault     integration.Vault
	Keys      token.KeySet // of tokens, where they stay the same while the process runs
	Tokens    Tokens       // instead of Keys where they do not
	CursorKey []byte
	// Loopback lets outgoing requests reach this machine: the local run only.
	Loopback bool
	// FeedTold is true in a process that consumes the feed, and so hears of every change to an endpoint.
	FeedTold bool
}

// Tokens is the keys of tokens in use.
type Tokens interface {
	Signer() *token.Signer
	Public() token.PublicKeys // those that verify
	web.Verifier
}

// fixedKeys is Tokens of one set of keys.
type fixedKeys struct {
	*token.Verifier
	signer *token.Signer
}

func (f fixedKeys) Signer() *token.Signer    { return f.signer }
func (f fixedKeys) Public() token.PublicKeys { return f.Keys() }

// Services is everything that route groups and workers are made of. It is safe for concurrent use.
type Services struct {
	Backend
	Logger     *slog.Logger
	Now        func() time.Time
	Origins    web.Origins // of pages that may read answers
	Client     *outbound.Client
	Connectors connector.Registry
	Engine     policy.Engine
	Courier    *courier.Courier
	Examiner   certify.Examiner
	Hasher     *password.Hasher
}

// endpointsFresh is how long a process that hears of changes remembers endpoints without hearing of one: the time
// until a signing secret that has retired stops signing.
const endpointsFresh = time.Minute

// New puts the services together.
func New(c config.Config, b Backend, logger *slog.Logger, now func() time.Time) (*Services, error) {
	s := &Services{Backend: b, Logger: logger, Now: now, Origins: c.Origins, Engine: policy.Rules{Now: now}, Hasher: password.New()}
	s.Client = outbound.New(outbound.Options{AllowLoopback: b.Loopback, AllowNetworks: c.AllowNetworks})
	s.Connectors = connector.New(webhook.New(s.Client), github.New(s.Client), feed.New(s.Client, now))
	fresh := time.Duration(0)
	if b.FeedTold {
		fresh = endpointsFresh
	}
	s.Courier = courier.New(courier.Deps{
		Store: b.Store, Vault: b.Vault, Client: s.Client, Logger: logger, Now: now, Fresh: fresh,
	})
	s.Examiner = certify.Examiner{Connectors: s.Connectors, Client: s.Client, Engine: s.Engine, Now: now}
	if s.Tokens == nil {
		tokens := token.Config{Issuer: c.Issuer, Audience: c.Audience, Now: now}
		s.Tokens = fixedKeys{token.NewVerifier(tokens, b.Keys.Public()), token.NewSigner(tokens, b.Keys)}
	}
	return s, nil
}

// Company binds the store to a company.
func (s *Services) Company(id string) store.Company { return store.For(s.Store, id) }

// Web is a server without route groups.
func (s *Services) Web(version string) *web.Server {
	return web.New(web.Options{
		Title: "Organizational Operations Service", Version: version, Logger: s.Logger, Verifier: s.Tokens,
		Tenant: s.Company, CursorKey: s.CursorKey, Now: s.Now, Origins: s.Origins,
	})
}
