package operations_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// company stores records of company A, and the context that follows from them.
type company struct {
	*webtest.Harness
	t testing.TB
	n int
}

func of(t testing.TB, h *webtest.Harness) *company { return &company{Harness: h, t: t} }

func (c *company) items() store.Company { return store.For(c.Store, c.A.ID) }

// endpoint configures a webhook integration.
func (c *company) endpoint(provider string) {
	c.t.Helper()
	i := integration.Integration{
		Provider: provider, Kind: "webhook", State: integration.Certified, Enabled: true, Config: json.RawMessage(`{}`),
		Permissions: []integration.Port{integration.EventDeliver}, CreatedAt: noon().AddDate(0, -1, 0), UpdatedAt: noon(),
		Certification: &integration.Certification{PassedAt: noon().AddDate(0, -1, 0), ExpiresAt: noon().AddDate(0, 1, 0)},
	}
	errtest.Must(c.t, c.items().Commit(c.t.Context(), c.items().Create(integration.Key(provider), integration.Entity, i)))
}

// deliver stores a delivery with one attempt, unless the state is held or scheduled.
func (c *company) deliver(provider, event string, at time.Time, state delivery.State) (deliveryID string) {
	c.t.Helper()
	c.n++
	d := delivery.Delivery{Head: delivery.Head{EventID: id.At(at, fmt.Sprint(c.n)), Endpoint: provider, Event: event, CreatedAt: at}, Payload: json.RawMessage(`{}`)}
	switch state {
	case delivery.Delivered:
		d.Log(delivery.Attempt{Number: 1, State: delivery.Delivered, At: at, Status: 204})
	case delivery.Dead, delivery.Failed:
		d.Log(delivery.Attempt{Number: 10, State: delivery.Failed, At: at, Status: 500, Error: "answered 500", Excerpt: "boom"})
	}
	d.End(state)
	errtest.Must(c.t, c.items().Commit(c.t.Context(), c.items().Create(delivery.Key(d.EventID, provider), delivery.Entity, d)))
	return d.EventID
}

// learn stores the context that follows from the records.
func (c *company) learn() {
	c.t.Helper()
	var all []store.Item
	for q := (store.Query{}); ; {
		page, err := c.items().Query(c.t.Context(), q)
		errtest.Must(c.t, err)
		all = append(all, page.Items...)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	old, version, err := projection.Load(c.t.Context(), c.items())
	errtest.Must(c.t, err)
	for i := range all { // as if they were committed at the tests' time, not now
		all[i].At = noon()
	}
	p, failed := projection.Rebuild(old, all)
	errtest.Must(c.t, failed.Err())
	errtest.Must(c.t, c.items().Commit(c.t.Context(), projection.Save(c.items(), version, p)))
}
