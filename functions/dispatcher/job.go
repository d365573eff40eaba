package dispatcher

import (
	"encoding/json"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/webhook/courier"
)

// job carries the first attempt of one event's delivery to one endpoint.
type job struct {
	endpoint *courier.Endpoint
	delivery delivery.Delivery
	work     *tracker
	late     bool       // an earlier process may have made the attempt
	joined   []*tracker // changes that were redelivered meanwhile; guarded by jobs
	waits    time.Time  // since when it waits in its lane
}

// newJob makes the job of an event about a record, whose key is subject.
func newJob(e event.Event, subject string, payload json.RawMessage, endpoint *courier.Endpoint, work *tracker) *job {
	j := &job{endpoint: endpoint, work: work, delivery: delivery.Delivery{
		Head: delivery.Head{
			EventID: e.ID, Endpoint: endpoint.Provider, Incarnation: endpoint.Incarnation, Event: e.Type, CreatedAt: e.Timestamp,
		},
		Payload: payload,
	}}
	if endpoint.Ordered() {
		j.delivery.Line = subject
	}
	return j
}

func (j *job) key() string { return delivery.Key(j.delivery.EventID, j.delivery.Endpoint) }
