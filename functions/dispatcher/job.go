package dispatcher

import (
	"encoding/json"

	"orgops/shared/courier"
	"orgops/shared/delivery"
	"orgops/shared/event"
)

// job is one event's delivery to one endpoint on its first attempt.
type job struct {
	endpoint *courier.Endpoint
	delivery delivery.Delivery
	work     *tracker
}

func newJob(e event.Event, payload json.RawMessage, endpoint *courier.Endpoint, work *tracker) *job {
	return &job{endpoint: endpoint, work: work, delivery: delivery.Delivery{
		EventID: e.ID, Endpoint: endpoint.Provider, Event: e.Type, Payload: payload, CreatedAt: e.Timestamp,
	}}
}

func (j *job) key() string { return delivery.Key(j.delivery.EventID, j.delivery.Endpoint) }
