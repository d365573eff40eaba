// Package boot assembles the service from the parts that a process has opened. Route groups and workers use the result.
// Package boot imports no backend, driver, feed parser or HTTP server, so a Lambda links only the parts that its main adds.
package boot

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/policy"
	"orgops/shared/identity/application"
	"orgops/shared/identity/token"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/slack"
)

// Names of the queues.
const (
	Retries = "retries"
	Syncs   = "syncs"
	Notices = "notices"
)

// Parts holds what a process has opened. A process leaves out the parts that its functions do not use.
type Parts struct {
	Store        store.Store
	Retries      queue.Queue                              // deliveries that are due later, and recoveries
	Syncs        queue.Queue                              // sync runs
	Notices      queue.Queue                              // what people are told
	Mail         mail.Sender                              // nil: the service sends no mails
	SlackURL     string                                   // where Slack is, for tests; "": slack.Home
	SlackApp     func(context.Context) (slack.App, error) // the operator's registration; nil: none
	Vault        integration.Vault
	DataKeys     DataKeys                 // destroys companies' data keys
	Keys         token.Keys               // signs access tokens
	Connectors   connector.Registry       // kinds of provider
	Applications application.Applications // registered by the operator with providers; nil: none
	Client       *outbound.Client         // calls addresses that tenants chose
	Engine       policy.Engine            // decides on automated actions
	Base         string                   // the service's own address, without a slash at the end; identity providers lead back to it
	FormerBase   string                   // another address of the service that goes on, without a slash at the end; "": none
	SendsFrom    []netip.Prefix           // the addresses from which the process sends; nil: they are not fixed
	Logger       *slog.Logger
	Metrics      *metric.Recorder // nil: no metrics are recorded
	Now          func() time.Time
	Random       func() float64 // jitter of waits, from [0, 1); nil: that of math/rand/v2

	// Separate reports that the store charges twice for writes in a transaction.
	Separate bool
	// NoExecutives reports that the Executive Runtime is left out, so that no action of an executive is carried out.
	NoExecutives bool
	// HearsChanges reports that the process consumes the feed, and so learns of every change to an endpoint.
	HearsChanges bool
}

// DataKeys destroys companies' data keys.
type DataKeys interface {
	// Destroy removes a company's key. It has no effect if the company has none.
	Destroy(ctx context.Context, company string) error
}

// Services holds the parts, and builds from them the objects that route groups and workers use. It is safe for concurrent
// use.
type Services struct {
	Parts

	once    sync.Once
	courier *courier.Courier
}

// New makes Services from parts. Its methods build their results on demand, so a function links only what it uses.
func New(p Parts) *Services { return &Services{Parts: p} }

// Company binds the store to a company.
func (s *Services) Company(id string) store.Company { return store.For(s.Store, id) }

// Bases returns the service's own addresses, without a slash at the end. The first one is the current one.
func (s *Services) Bases() []string {
	return slices.DeleteFunc([]string{s.Base, s.FormerBase}, func(base string) bool { return base == "" })
}

// Slack returns the client of Slack.
func (s *Services) Slack() slack.Client {
	return slack.Client{Out: s.Client, URL: cmp.Or(s.SlackURL, slack.Home), Now: s.Now}
}

// Lot returns the lot in which a consumer of the feed parks the changes that it does not understand.
func (s *Services) Lot(consumer string) parked.Lot {
	return parked.Lot{Store: s.Store, Consumer: consumer, Logger: s.Logger, Metrics: s.Metrics, Now: s.Now}
}

// endpointsFresh limits how long a process with HearsChanges caches an endpoint. A retired signing secret stops signing
// within this time.
const endpointsFresh = time.Minute

// Courier returns the process's only courier, which it builds on the first call.
func (s *Services) Courier() *courier.Courier {
	s.once.Do(func() {
		d := courier.Deps{
			Store: s.Store, Vault: s.Vault, Client: s.Client, Engine: s.Engine, Logger: s.Logger, Now: s.Now, Metrics: s.Metrics, Random: s.Random,
		}
		if s.HearsChanges {
			d.Fresh = endpointsFresh
		}
		d.Separate = s.Separate
		d.Shared = !s.HearsChanges // only one process at a time may consume the feed
		s.courier = courier.New(d)
	})
	return s.courier
}
