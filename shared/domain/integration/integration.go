// Package integration stores a company's connectors: how each is configured, what it may do, and whether it is certified.
package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of an integration's item and the prefix of its key.
const (
	Entity = "integration"
	Prefix = "INTEGRATION#"
)

// State says whether an integration may act outside the sandbox.
type State string

// The states.
const (
	Sandbox   State = "sandbox"   // events to it are held, and actions from it have no effect
	Certified State = "certified" // until Certification.ExpiresAt
)

// Port names something that a connector may do. An integration's permissions list its ports.
type Port string

// The first three ports are ways in or out. The others are actions that may come in.
const (
	EventDeliver   Port = "event.deliver"   // receive events
	InboundReceive Port = "inbound.receive" // take the provider's notices of changes
	SyncPull       Port = "sync.pull"       // fetch from the provider
	MemoryUpsert   Port = "memory.upsert"
	GoalUpdate     Port = "goal.update"
	TimelineNote   Port = "timeline.note"
)

// The reasons why an integration is disabled.
const (
	DisabledManually = "manual"  // a user disabled it
	DisabledGone     = "gone"    // its endpoint answered 410
	DisabledFailing  = "failing" // no delivery reached it for five days
)

// Integration describes one configured connector, as stored.
type Integration struct {
	Provider       string           `json:"provider"` // "webhook", "webhook-billing", "github"
	Kind           string           `json:"kind"`     // the connector: "webhook", "github"
	State          State            `json:"state"`
	Enabled        bool             `json:"enabled"`
	Disabled       *Disabled        `json:"disabled,omitempty"`
	Config         json.RawMessage  `json:"config"` // as configured, without secrets
	Permissions    []Port           `json:"permissions"`
	Certification  *Certification   `json:"certification,omitempty"`
	SecretAt       *time.Time       `json:"secretAt,omitempty"` // when the newest signing secret was made
	Credentials    *CredentialNames `json:"credentials,omitempty"`
	ConfiguredBy   string           `json:"configuredBy,omitempty"`
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
	SandboxedCause string           `json:"sandboxedCause,omitempty"` // why the integration is back in the sandbox
	Damaged        error            `json:"-"`                        // why the stored form cannot be read: see Usable
}

// Disabled says when and why an integration was disabled.
type Disabled struct {
	Reason string    `json:"reason" doc:"who disabled the integration: a user (manual), the endpoint by a 410 (gone), or the service after five days without a success (failing)" enum:"manual,gone,failing"`
	At     time.Time `json:"at" doc:"when the integration was disabled"`
}

// CredentialNames lists the credentials in the vault by name. The API never shows their values.
type CredentialNames struct {
	Names     []string  `json:"names" doc:"names of the credentials; no operation returns the values" nullable:"false" example:"[\"token\"]"`
	UpdatedAt time.Time `json:"updatedAt" doc:"when the credentials were stored"`
}

// Certification records a passed certification run.
type Certification struct {
	PassedAt     time.Time `json:"passedAt"`
	ExpiresAt    time.Time `json:"expiresAt"`
	ConfigDigest string    `json:"configDigest"`
	Ports        []Port    `json:"ports"` // the proven ports; the others stay closed
}

// CertifiedFor limits how long a certification holds. ExpiryTimer names the kind of the timer that ends the certification.
// The timer's subject is "<provider>@<version of the certified integration>".
const (
	CertifiedFor = 90 * 24 * time.Hour
	ExpiryTimer  = "certification-expiry"
)

// The causes that put an integration back into the sandbox.
const (
	SandboxedByChange  = "configuration"
	SandboxedByExpiry  = "expired"
	SandboxedByFailing = "failing"
)

// Allows reports whether the integration is enabled and, as of now, certified for a port that its permissions list.
func (i Integration) Allows(p Port, now time.Time) bool {
	return i.Enabled && i.IsCertified(now) && has(i.Certification.Ports, p) && has(i.Permissions, p)
}

// IsCertified reports whether the integration is out of the sandbox as of now.
func (i Integration) IsCertified(now time.Time) bool {
	return i.State == Certified && i.Certification != nil && now.Before(i.Certification.ExpiresAt)
}

// Has reports whether the permissions list a port.
func (i Integration) Has(p Port) bool { return has(i.Permissions, p) }

func has(ports []Port, p Port) bool {
	return slices.Contains(ports, p)
}

// Sandboxed returns the integration put back into the sandbox.
func (i Integration) Sandboxed(cause string, now time.Time) Integration {
	i.State, i.Certification, i.SandboxedCause, i.UpdatedAt = Sandbox, nil, cause, now
	return i
}

// Key returns the sort key of an integration.
func Key(provider string) string { return Prefix + provider }

// Load reads one integration and its version. It returns fault.NotFound for a provider that is not configured.
func Load(ctx context.Context, c store.Company, provider string) (Integration, int64, error) {
	item, err := c.Get(ctx, Key(provider), nil)
	if err != nil {
		return Integration{}, 0, store.Fault(err, fmt.Sprintf("integration %q is not configured", provider))
	}
	return decode(item), item.Version, nil
}

// Stored carries an integration with its version.
type Stored struct {
	Integration
	Version int64
}

// MaxPerCompany limits how many integrations a company may configure. The service counts before the write and outside of its
// transaction, so concurrent requests may exceed the limit.
const MaxPerCompany = 50

// List reads all integrations of a company, in order of provider name.
func List(ctx context.Context, c store.Company) ([]Stored, error) {
	q := store.Query{Prefix: Prefix}
	var all []Stored
	for {
		page, err := c.Query(ctx, q)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		for _, item := range page.Items {
			all = append(all, Stored{Integration: decode(item), Version: item.Version})
		}
		if page.Next == "" {
			return all, nil
		}
		q.After = page.Next
	}
}
