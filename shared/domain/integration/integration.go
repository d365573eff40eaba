// Package integration stores a company's connectors: how each is configured, what it may do, and whether it is certified.
package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	DisabledManually = "manual"   // a user disabled it
	DisabledGone     = "gone"     // its endpoint answered 410
	DisabledFailing  = "failing"  // no delivery reached it for five days
	DisabledImported = "imported" // an import has made it without its secrets
)

// Integration describes one configured connector, as stored.
//
// Incarnation is a UUIDv7, made when the integration is created and kept as long as it exists. An integration that is deleted and
// configured again under the same name has another one. A record about an integration carries its incarnation, so that what
// belongs to the former one does not reach the next. Integrations of release 0.1.0 have none, and neither do their records.
type Integration struct {
	Provider       string           `json:"provider"`              // "webhook", "webhook-billing", "github"
	Kind           string           `json:"kind"`                  // the connector: "webhook", "github"
	Incarnation    string           `json:"incarnation,omitempty"` // see Integration
	Title          string           `json:"title,omitempty"`       // what people call it
	State          State            `json:"state"`
	Enabled        bool             `json:"enabled"`
	Disabled       *Disabled        `json:"disabled,omitempty"`
	Config         json.RawMessage  `json:"config"` // as configured, without secrets
	Permissions    []Port           `json:"permissions"`
	Narrowed       bool             `json:"narrowed,omitempty"` // the company allows fewer ports than the connector asks for
	Certification  *Certification   `json:"certification,omitempty"`
	SecretAt       *time.Time       `json:"secretAt,omitempty"` // when the newest signing secret was made
	Credentials    *CredentialNames `json:"credentials,omitempty"`
	Connection     *Connection      `json:"connection,omitempty"` // nil: the credentials, if any, were stored by hand
	Mapping        *MappingRef      `json:"mapping,omitempty"`    // nil: the provider's default mapping applies
	Manifest       *ManifestRef     `json:"manifest,omitempty"`   // nil: a kind of the service
	Schedule       *Schedule        `json:"schedule,omitempty"`
	Goals          []string         `json:"goals,omitempty"` // goals of the company's own that its syncs measure
	ConfiguredBy   string           `json:"configuredBy,omitempty"`
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
	Place          *Place           `json:"place,omitempty"`          // what the configuration names, as the provider's webhooks tell; nil: unknown
	Suspended      bool             `json:"suspended,omitempty"`      // the company is suspended; see package suspension
	SandboxedCause string           `json:"sandboxedCause,omitempty"` // why the integration is back in the sandbox
	Damaged        error            `json:"-"`                        // why the stored form cannot be read: see Usable
}

// Place is the part of a provider that a configuration names, such as a repository. Its name can change, its id cannot.
type Place struct {
	ID   string `json:"id" doc:"the provider's id, which a new name does not change" example:"1296269"`
	Name string `json:"name" doc:"the name that the newest webhook has" example:"octo/app"`
}

// Disabled says when and why an integration was disabled.
type Disabled struct {
	Reason string    `json:"reason" doc:"who disabled the integration: a user (manual), the endpoint by a 410 (gone), the service after five days without a success (failing), or an import, which brings no secrets (imported)" enum:"manual,gone,failing,imported"`
	At     time.Time `json:"at" doc:"when the integration was disabled"`
}

// Disable disables the integration for a reason, one of those that Disabled lists.
func (i *Integration) Disable(reason string, now time.Time) {
	i.Enabled, i.Disabled, i.UpdatedAt = false, &Disabled{Reason: reason, At: now}, now
}

// CredentialNames lists the credentials in the vault by name. The API never shows their values.
type CredentialNames struct {
	Names     []string  `json:"names" doc:"names of the credentials; no operation returns the values" nullable:"false" example:"[\"token\"]"`
	UpdatedAt time.Time `json:"updatedAt" doc:"when the credentials were stored"`

	WarnedAt  *time.Time `json:"warnedAt,omitempty" doc:"since when they count as about to expire, 14 days before they do; absent before"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"when they expire: as the provider says with what is fetched or, if it does not say so, as stated when they were stored; absent if neither is known"`
}

// Certification records a passed certification run.
type Certification struct {
	PassedAt     time.Time `json:"passedAt"`
	ExpiresAt    time.Time `json:"expiresAt"`
	ConfigDigest string    `json:"configDigest"`
	Ports        []Port    `json:"ports"` // the proven ports; the others stay closed

	WarnedAt *time.Time `json:"warnedAt,omitempty"` // since when it counts as about to expire

	// Closed lists proven ports that were closed again, because they kept failing. The next certification opens them.
	Closed []Port `json:"closed,omitempty"`
}

// Open lists the proven ports that are not closed.
func (c Certification) Open() []Port {
	return slices.DeleteFunc(slices.Clone(c.Ports), func(p Port) bool { return has(c.Closed, p) })
}

// CertifiedFor limits how long a certification holds. ExpiryTimer names the kind of the timer that ends the certification.
// The timer's subject is "<provider>@<version of the certified integration>".
const (
	CertifiedFor = 90 * 24 * time.Hour
	ExpiryTimer  = "certification-expiry"
)

// Warns is how long before its end a certification or a credential counts as about to expire. The timers that mark it so have these
// kinds, and the subject "<provider>@<version of the integration>".
const (
	Warns           = 14 * 24 * time.Hour
	WarningTimer    = "certification-expiring"
	CredentialTimer = "credentials-expiring"
)

// Ending returns the op that sets the first timer of the integration's certification. The integration is written as version.
func (i Integration) Ending(c store.Company, version int64) store.Op {
	return c.Timer(i.Certification.ExpiresAt.Add(-Warns), WarningTimer, fmt.Sprintf("%s@%d", i.Provider, version))
}

// CredentialsEnding returns the ops that set the timer of when the credentials are about to expire: none if it is not known when they
// do. The integration is written as version.
func (i Integration) CredentialsEnding(c store.Company, version int64) []store.Op {
	if i.Credentials == nil || i.Credentials.ExpiresAt == nil {
		return nil
	}
	return []store.Op{c.Timer(i.Credentials.ExpiresAt.Add(-Warns), CredentialTimer, fmt.Sprintf("%s@%d", i.Provider, version))}
}

// Warned returns the integration with its certification, or its credentials, marked as about to expire. ok is false if there is nothing
// to mark: it was renewed, or is marked.
func (i Integration) Warned(timer string, now time.Time) (marked Integration, ok bool) {
	if timer == WarningTimer {
		if !i.IsCertified(now) || i.Certification.WarnedAt != nil || now.Before(i.Certification.ExpiresAt.Add(-Warns)) {
			return i, false
		}
		certification := *i.Certification
		certification.WarnedAt, i.Certification = &now, &certification
		return i, true
	}
	if i.Credentials == nil || i.Credentials.ExpiresAt == nil || i.Credentials.WarnedAt != nil || now.Before(i.Credentials.ExpiresAt.Add(-Warns)) {
		return i, false
	}
	names := *i.Credentials
	names.WarnedAt, i.Credentials = &now, &names
	return i, true
}

// The causes that put an integration back into the sandbox.
const (
	SandboxedByChange  = "configuration" // of the integration, or of the manifest that describes it
	SandboxedByExpiry  = "expired"
	SandboxedByFailing = "failing"
)

// Allows reports whether the integration is enabled and, as of now, certified for a port that its permissions list.
func (i Integration) Allows(p Port, now time.Time) bool {
	return i.Enabled && i.IsCertified(now) && has(i.Certification.Ports, p) && !has(i.Certification.Closed, p) && has(i.Permissions, p)
}

// IsCertified reports whether the integration is out of the sandbox as of now.
func (i Integration) IsCertified(now time.Time) bool {
	return i.State == Certified && i.Certification != nil && now.Before(i.Certification.ExpiresAt)
}

// Has reports whether the permissions list a port.
func (i Integration) Has(p Port) bool { return has(i.Permissions, p) }

// Asks returns the ports that the integration asks for: those of its connector, and goal.update if it measures goals of the company's own.
func (i Integration) Asks(ports []Port) []Port {
	if len(i.Goals) > 0 && !has(ports, GoalUpdate) {
		return append(slices.Clone(ports), GoalUpdate)
	}
	return ports
}

// StoredCredentials returns the names of the credentials in the vault.
func (i Integration) StoredCredentials() []string {
	if i.Credentials == nil {
		return nil
	}
	return i.Credentials.Names
}

// CredentialsEnd returns the integration with the time at which the provider says that the credentials expire, and whether
// that is new. The zero time says that the provider does not tell, and changes nothing: a founder may have stated the time. A connection
// renews its own.
func (i Integration) CredentialsEnd(until time.Time) (told Integration, changed bool) {
	if i.Credentials == nil || i.Connection != nil || until.IsZero() || i.Credentials.ExpiresAt != nil && i.Credentials.ExpiresAt.Equal(until) {
		return i, false
	}
	names, until := *i.Credentials, until.UTC()
	names.ExpiresAt, names.WarnedAt = &until, nil
	i.Credentials = &names
	return i, true
}

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

// Create returns the write of a new integration. An integration that is deleted and configured again has other versions, so that a
// write at a version of the former one conflicts. It may have been planned long before, such as a certification.
func Create(c store.Company, i Integration) store.Op {
	return c.Create(Key(i.Provider), Entity, i).From(i.First())
}

// First returns the integration's first version, which follows from its incarnation.
func (i Integration) First() int64 {
	if len(i.Incarnation) < 12 {
		return 1
	}
	random, _ := strconv.ParseInt(i.Incarnation[len(i.Incarnation)-12:], 16, 64) // 0 with an error
	return random + 1
}

// Load reads one integration and its version. It returns fault.NotFound for a provider that is not configured.
func Load(ctx context.Context, c store.Company, provider string) (Integration, int64, error) {
	var r *Reader
	return r.Load(ctx, c, provider)
}

// Stored carries an integration with its version.
type Stored struct {
	Integration
	Version int64
}

// Number returns the version as the API shows it: 1 when the integration was created.
func (s Stored) Number() int64 { return s.Version - s.First() + 1 }

// MaxPerCompany limits how many integrations a company may configure, and MaxOfEnterprise those of a company on the plan enterprise.
// Creations take turns, so that concurrent requests cannot exceed the limit.
const (
	MaxPerCompany   = 50
	MaxOfEnterprise = 500
)

// Most returns how many integrations a company may have on a plan.
func Most(plan string) int {
	if plan == "enterprise" {
		return MaxOfEnterprise
	}
	return MaxPerCompany
}

// List reads all integrations of a company, in order of provider name.
func List(ctx context.Context, c store.Company) ([]Stored, error) {
	var r *Reader
	return r.List(ctx, c)
}
