package integrations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/provider/certify"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// DeliverySummary shows a delivery with its latest attempt.
type DeliverySummary struct {
	DeliveryID      string         `json:"deliveryId" doc:"the event's id; a delivery sends one event to this endpoint" format:"uuid"`
	EventID         string         `json:"eventId" doc:"the event's id, which is also the webhook-id header" format:"uuid"`
	Event           string         `json:"event" doc:"the event's name" example:"memory.updated"`
	Attempt         int            `json:"attempt" doc:"number of the latest attempt; 0 before the first" format:"int32"`
	State           delivery.State `json:"state" doc:"the delivery's state" enum:"delivered,scheduled,waiting,held,failed,dead"`
	At              time.Time      `json:"at" doc:"when the latest attempt was made; before the first, the event's time"`
	Status          int            `json:"status,omitempty" doc:"HTTP status of the answer" format:"int32"`
	LatencyMS       int64          `json:"latencyMs,omitempty" doc:"milliseconds until the answer of the latest attempt"`
	Error           string         `json:"error,omitempty" doc:"why there was no answer, or why the answer counts as a failure"`
	ResponseExcerpt string         `json:"responseExcerpt,omitempty" doc:"the beginning of the answer's body, at most 1 kB"`
	NextAttemptAt   *time.Time     `json:"nextAttemptAt,omitempty" doc:"when the next attempt is due, not before the end of a pause of the endpoint"`
	WaitingFor      string         `json:"waitingFor,omitempty" doc:"why it waits; failing or retry-after: the endpoint is paused; schedule: its attempt is due later; backlog: its attempt is late, because others come first; line: an earlier delivery of its line" enum:"failing,retry-after,schedule,backlog,line"`
	HeldBecause     string         `json:"heldBecause,omitempty" doc:"why it is held" enum:"sandbox,disabled,deleted,configuration,suspended,line,filter,transform"`
	HeldDetail      string         `json:"heldDetail,omitempty" doc:"why the endpoint's filter or transformation failed; both are evaluated again when the delivery is sent"`
}

// Delivery shows a delivery with its attempts and payload.
type Delivery struct {
	DeliverySummary
	Attempts []delivery.Attempt `json:"attempts" nullable:"false" doc:"the latest 25, oldest first"`
	Payload  json.RawMessage    `json:"payload" doc:"the body that is sent"`
	Line     *DeliveryLine      `json:"line,omitempty" doc:"the line in which the delivery stands, if its endpoint is ordered and it has not ended"`
}

// DeliveryLine shows the place of a delivery to an ordered endpoint among those about the same record.
type DeliveryLine struct {
	Head  string `json:"head" doc:"the delivery for which attempts are made; the others wait until it has ended" format:"uuid"`
	Ahead int    `json:"ahead" doc:"how many deliveries are in front of this one" example:"2" format:"int32"`
}

func showAttempt(d delivery.Delivery) DeliverySummary {
	a := DeliverySummary{
		DeliveryID: d.EventID, EventID: d.EventID, Event: d.Event, State: d.State, At: d.CreatedAt,
		NextAttemptAt: d.NextAttemptAt, HeldBecause: d.HeldBecause, HeldDetail: d.HeldDetail,
	}
	if last, ok := d.Last(); ok {
		a.Attempt, a.At, a.Status, a.LatencyMS, a.Error, a.ResponseExcerpt =
			last.Number, last.At, last.Status, last.LatencyMS, last.Error, last.Excerpt
	}
	return a
}

type deliveriesInput struct {
	ProviderInput
	DeliveryFilter
}

// DeliveryFilter chooses deliveries. It is exported because huma ignores embedded types that are not exported.
type DeliveryFilter struct {
	web.PageQuery
	State string    `query:"state" enum:"delivered,scheduled,waiting,held,failed,dead" doc:"only in this state"`
	Event string    `query:"event" maxLength:"64" doc:"only of this event" example:"memory.updated"`
	Since time.Time `query:"since" doc:"only events from this time on (RFC 3339)"`
}

// listDeliveries lists an integration's deliveries. It also works for a deleted integration, because the deliveries stay
// until they expire. A name without any, and without an integration, is not found: it is a wrong one.
func (d Deps) listDeliveries(ctx context.Context, in *deliveriesInput) (*web.PageOutput[DeliverySummary], error) {
	if err := d.Connectors.Knows(ctx, web.Tenant(ctx), in.Provider); err != nil {
		return nil, err
	}
	list := func(filter DeliveryFilter) (*web.PageOutput[DeliverySummary], error) {
		return listed(ctx, d, filter, in.Provider, func(_ delivery.Delivery, shown DeliverySummary) DeliverySummary { return shown })
	}
	page, err := list(in.DeliveryFilter)
	if err != nil || in.Cursor != "" || !page.Body.IsEmpty() {
		return page, err
	}
	if _, missing := d.find(ctx, in.Provider); missing != nil {
		if every, err := list(DeliveryFilter{PageQuery: in.PageQuery}); err != nil || every.Body.IsEmpty() {
			return nil, cmp.Or(err, missing)
		}
	}
	return page, nil
}

// EndpointDelivery shows a delivery in the list of those to all endpoints.
type EndpointDelivery struct {
	Provider string `json:"provider" doc:"the endpoint" example:"webhook-billing"`
	DeliverySummary
}

type allDeliveriesInput struct {
	Provider string `query:"provider" maxLength:"64" doc:"only to this endpoint" example:"webhook"`
	DeliveryFilter
}

// listAllDeliveries lists the deliveries to every endpoint that the caller reaches.
func (d Deps) listAllDeliveries(ctx context.Context, in *allDeliveriesInput) (*web.PageOutput[EndpointDelivery], error) {
	return listed(ctx, d, in.DeliveryFilter, in.Provider, func(one delivery.Delivery, shown DeliverySummary) EndpointDelivery {
		return EndpointDelivery{Provider: one.Endpoint, DeliverySummary: shown}
	})
}

// listed lists the deliveries to an endpoint, or to all if provider is "".
func listed[T any](
	ctx context.Context, d Deps, in DeliveryFilter, provider string, show func(delivery.Delivery, DeliverySummary) T,
) (*web.PageOutput[T], error) {
	q := store.Query{Prefix: delivery.Prefix, Desc: true}
	if in.Since.Unix() > 0 { // an id cannot hold an earlier time
		q.From = delivery.Prefix + id.First(in.Since)
	}
	caller, now := web.CallerOf(ctx), d.standings()
	keep := func(d delivery.Delivery) bool {
		return (provider == "" || d.Endpoint == provider) && caller.Reaches(d.Endpoint) && (in.Event == "" || d.Event == in.Event) &&
			(in.State == "" || string(now.of(ctx, d).State) == in.State)
	}
	page, err := web.List(ctx, in.PageQuery, q, keep, caller.Provider, provider, in.State, in.Event, in.Since.String())
	if err != nil {
		return nil, err
	}
	summaries, err := d.explain(ctx, now, page.Body.Items...)
	if err != nil {
		return nil, err
	}
	out := &web.PageOutput[T]{Link: page.Link, Body: web.Page[T]{Items: make([]T, 0, len(summaries)), NextCursor: page.Body.NextCursor}}
	for n, one := range page.Body.Items {
		out.Body.Items = append(out.Body.Items, show(one, summaries[n]))
	}
	return out, nil
}

type deliveryInput struct {
	ProviderInput
	Delivery string `path:"deliveryId" maxLength:"64" doc:"The delivery's id, which is its event's id"`
}

type deliveryOutput struct{ Body Delivery }

func (d Deps) getDelivery(ctx context.Context, in *deliveryInput) (*deliveryOutput, error) {
	if err := d.Connectors.Knows(ctx, web.Tenant(ctx), in.Provider); err != nil {
		return nil, err
	}
	one, _, err := loadDelivery(ctx, in)
	if err != nil {
		return nil, err
	}
	shown, err := d.explain(ctx, d.standings(), one)
	if err != nil {
		return nil, err
	}
	out := &deliveryOutput{Body: Delivery{DeliverySummary: shown[0], Attempts: one.Attempts, Payload: one.Payload}}
	if out.Body.Attempts == nil {
		out.Body.Attempts = []delivery.Attempt{}
	}
	return out, out.Body.addLine(ctx, one)
}

// addLine adds the place of a delivery in its line, if it stands in one.
func (shown *Delivery) addLine(ctx context.Context, one delivery.Delivery) error {
	if one.Line == "" {
		return nil
	}
	var line delivery.Line
	if _, err := web.Tenant(ctx).Get(ctx, delivery.LineKey(one), &line); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if place := slices.Index(line.Events, one.EventID); place >= 0 {
		shown.Line = &DeliveryLine{Head: line.Events[0], Ahead: place}
	}
	return nil
}

func loadDelivery(ctx context.Context, in *deliveryInput) (delivery.Delivery, int64, error) {
	missing := fmt.Sprintf("%s has no delivery with this id", in.Provider)
	if !id.Valid(in.Delivery) {
		return delivery.Delivery{}, 0, fault.New(fault.NotFound, missing)
	}
	var d delivery.Delivery
	item, err := web.Tenant(ctx).Get(ctx, delivery.Key(in.Delivery, in.Provider), &d)
	return d, item.Version, store.Fault(err, missing)
}

type attemptOutput struct{ Body DeliverySummary }

// maxTries bounds how often a retry request is repeated because an attempt was recorded concurrently.
const maxTries = 10

var errDeleted = fault.New(fault.Conflict, "the endpoint of this delivery was deleted, and the one of its name now is another; the delivery is kept for reading only")

var errWaits = fault.New(fault.Conflict, "the delivery waits for an earlier one of its line; retry the line's head instead, which GET shows")

// retryDelivery commits the request. The dispatcher sends the queue message when it receives the change.
func (d Deps) retryDelivery(ctx context.Context, in *deliveryInput) (*attemptOutput, error) {
	endpoint, err := d.endpoint(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	for try := 1; ; try++ {
		one, version, err := loadDelivery(ctx, in)
		if err != nil {
			return nil, err
		}
		if one.Incarnation != endpoint.Incarnation {
			return nil, errDeleted
		}
		lines := delivery.NewLines(c)
		waits, err := lines.Waits(ctx, one)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		if waits {
			return nil, errWaits
		}
		if err := lines.Join(ctx, &one, d.Now()); err != nil {
			return nil, err
		}
		err = c.Commit(ctx, lines.Ops(one.Save(c, version))...)
		if try < maxTries && errors.Is(err, store.ErrConflict) {
			continue
		}
		return &attemptOutput{showAttempt(one)}, store.Fault(err, "")
	}
}

func (d Deps) testIntegration(ctx context.Context, in *ProviderInput) (*attemptOutput, error) {
	if _, err := d.endpoint(ctx, in.Provider); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	sample := certify.Sample(c.ID(), in.Provider, d.Now().UTC())
	payload, err := sample.Payload()
	if err != nil {
		return nil, err
	}
	one := delivery.Delivery{Head: delivery.Head{EventID: sample.ID, Endpoint: in.Provider, Event: sample.Type, CreatedAt: sample.Timestamp}, Payload: payload}
	attempt, err := d.Courier.Sample(ctx, c, one)
	if err != nil {
		return nil, err
	}
	one.Log(attempt)
	last, _ := one.Last()
	one.End(last.State)
	return &attemptOutput{showAttempt(one)}, nil
}
