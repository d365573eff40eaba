// Package endpoint prepares webhook integrations for sending, remembers them, and disables those that have failed for too long.
package endpoint

import (
	"sync/atomic"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/post"
)

// Endpoint holds a webhook integration with everything prepared for sending.
type Endpoint struct {
	Company store.Company
	integration.Integration
	Settings
	Target *post.Target // nil: unusable configuration or secrets
	Sealed bool         // the secrets could not be decrypted this time

	version int64
	deleted bool        // the integration no longer exists
	stale   atomic.Bool // the integration may have changed since it was prepared
}

// SealedWait sets the wait for a Sealed endpoint; the key service may recover.
const SealedWait = time.Minute

// Key identifies an endpoint across companies. An endpoint that is deleted and configured again has another incarnation, and so shares
// neither slots nor health with the former one.
type Key struct{ Company, Provider, Incarnation string }

// Key returns the endpoint's key.
func (e *Endpoint) Key() Key { return Key{e.Company.ID(), e.Provider, e.Incarnation} }

// Settings holds the part of a webhook's configuration that sending needs.
type Settings struct {
	URL       string            `json:"url"`
	Events    []string          `json:"events"`
	Headers   map[string]string `json:"headers"`
	RateLimit int               `json:"rateLimit"` // attempts a second; 0: no limit
	Ordered   bool              `json:"ordered"`
	Filter    string            `json:"filter"` // without it and a transformation, the endpoint gets every event, as it is
	Transform string            `json:"transform"`
	Versions  event.Pins        `json:"eventVersions"`
}

// Wants reports whether the endpoint gets an event of a change that was committed at a time: it subscribes to the event, has the
// permission to receive events, and was configured then. A change may be handled much later, for example after it was parked, and its
// subscribers may have been deleted meanwhile.
func (e *Endpoint) Wants(name string, at time.Time) bool {
	existed := !e.CreatedAt.Truncate(time.Millisecond).After(at) // as exact as the time of a change
	return existed && e.Has(integration.EventDeliver) && event.Matches(e.Events, name)
}

// Held reports whether deliveries to an incarnation of the endpoint must be held, and why: delivery.HeldDeleted if it does not exist,
// because no other one ever gets them. The tenant recovers the others after the endpoint is certified, enabled or configured.
func (e *Endpoint) Held(incarnation string, now time.Time) (because string, held bool) {
	switch {
	case e.deleted || e.Incarnation != incarnation:
		return delivery.HeldDeleted, true
	case e.Target == nil && !e.Sealed:
		return "configuration", true
	case !e.Enabled:
		return "disabled", true
	case !e.Allows(integration.EventDeliver, now):
		return "sandbox", true
	case e.Suspended: // last: what is held for another reason is not sent when the company is resumed
		return delivery.HeldSuspended, true
	}
	return "", false
}
