package integrations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/certify"
	"orgops/shared/delivery"
	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/store"
	"orgops/shared/web"
)

// Attempt is a delivery with its newest attempt, as the API shows it.
type Attempt struct {
	DeliveryID      string         `json:"deliveryId" doc:"the event's id: a delivery is one event to this endpoint"`
	EventID         string         `json:"eventId" doc:"also the webhook-id header"`
	Event           string         `json:"event" example:"memory.updated"`
	Attempt         int            `json:"attempt" doc:"number of the newest attempt; 0: none yet"`
	State           delivery.State `json:"state" enum:"delivered,scheduled,held,failed,dead"`
	At              time.Time      `json:"at" doc:"when the newest attempt was made, or the event's time where there was none"`
	Status          int            `json:"status,omitempty" doc:"HTTP status of the answer"`
	LatencyMS       int64          `json:"latencyMs,omitempty"`
	Error           string         `json:"error,omitempty"`
	ResponseExcerpt string         `json:"responseExcerpt,omitempty" doc:"at most 1 kB"`
	NextAttemptAt   *time.Time     `json:"nextAttemptAt,omitempty"`
	HeldBecause     string         `json:"heldBecause,omitempty" enum:"sandbox,disabled,deleted,configuration"`
}

// Delivery is one delivery in full.
type Delivery struct {
	Attempt
	Attempts []delivery.Attempt `json:"attempts" nullable:"false" doc:"oldest first, the newest 25"`
	Payload  json.RawMessage    `json:"payload" doc:"what is sent"`
}

func showAttempt(d delivery.Delivery) Attempt {
	a := Attempt{
		DeliveryID: d.EventID, EventID: d.EventID, Event: d.Event, State: d.State, At: d.CreatedAt,
		NextAttemptAt: d.NextAttemptAt, HeldBecause: d.HeldBecause,
	}
	if last, ok := d.Last(); ok {
		a.Attempt, a.At, a.Status, a.LatencyMS, a.Error, a.ResponseExcerpt =
			last.Number, last.At, last.Status, last.LatencyMS, last.Error, last.Excerpt
	}
	return a
}

type deliveriesInput struct {
	ProviderInput
	web.PageQuery
	State string    `query:"state" enum:"delivered,scheduled,held,failed,dead" doc:"only in this state"`
	Event string    `query:"event" maxLength:"64" doc:"only of this event" example:"memory.updated"`
	Since time.Time `query:"since" doc:"only events from this time on (RFC 3339)"`
}

// listDeliveries lists them for a deleted integration too: its attempt log stays until it expires.
func (d Deps) listDeliveries(ctx context.Context, in *deliveriesInput) (*web.PageOutput[Attempt], error) {
	if _, err := d.Connectors.Find(in.Provider); err != nil {
		return nil, err
	}
	q := store.Query{Prefix: delivery.Prefix, Desc: true}
	if in.Since.Unix() > 0 { // ids hold no earlier time, and there is none to be found
		q.From = delivery.Prefix + id.First(in.Since)
	}
	keep := func(d delivery.Delivery) bool {
		return d.Endpoint == in.Provider && (in.State == "" || string(d.State) == in.State) && (in.Event == "" || d.Event == in.Event)
	}
	page, err := web.List(ctx, in.PageQuery, q, keep, in.Provider, in.State, in.Event, in.Since.String())
	if err != nil {
		return nil, err
	}
	out := &web.PageOutput[Attempt]{Link: page.Link, Body: web.Page[Attempt]{Items: []Attempt{}, NextCursor: page.Body.NextCursor}}
	for _, d := range page.Body.Items {
		out.Body.Items = append(out.Body.Items, showAttempt(d))
	}
	return out, nil
}

type deliveryInput struct {
	ProviderInput
	Delivery string `path:"did" maxLength:"64" doc:"The delivery's id: its event's"`
}

type deliveryOutput struct{ Body Delivery }

func (d Deps) getDelivery(ctx context.Context, in *deliveryInput) (*deliveryOutput, error) {
	if _, err := d.Connectors.Find(in.Provider); err != nil {
		return nil, err
	}
	one, _, err := loadDelivery(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &deliveryOutput{Body: Delivery{Attempt: showAttempt(one), Attempts: one.Attempts, Payload: one.Payload}}
	if out.Body.Attempts == nil {
		out.Body.Attempts = []delivery.Attempt{}
	}
	return out, nil
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

type attemptOutput struct{ Body Attempt }

// maxTries bounds how often a retry is asked for again because an attempt was recorded in between.
const maxTries = 10

// retryDelivery commits the request; the feed carries it to the queue.
func (d Deps) retryDelivery(ctx context.Context, in *deliveryInput) (*attemptOutput, error) {
	if err := d.checkEndpoint(ctx, in.Provider); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	for try := 1; ; try++ {
		one, version, err := loadDelivery(ctx, in)
		if err != nil {
			return nil, err
		}
		one.Request(d.Now())
		op := c.Replace(delivery.Key(one.EventID, one.Endpoint), delivery.Entity, version, one).Until(one.CreatedAt.Add(delivery.Kept))
		err = c.Commit(ctx, op)
		if try < maxTries && errors.Is(err, store.ErrConflict) {
			continue
		}
		return &attemptOutput{showAttempt(one)}, store.Fault(err, "")
	}
}

func (d Deps) testIntegration(ctx context.Context, in *ProviderInput) (*attemptOutput, error) {
	if err := d.checkEndpoint(ctx, in.Provider); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	endpoint, err := d.Courier.Endpoint(ctx, c, in.Provider)
	if err != nil {
		return nil, err
	}
	sample := certify.Sample(c.ID(), in.Provider, d.Now().UTC())
	payload, err := sample.Payload()
	if err != nil {
		return nil, err
	}
	one := delivery.Delivery{EventID: sample.ID, Endpoint: in.Provider, Event: sample.Type, Payload: payload, CreatedAt: sample.Timestamp}
	one.Record(d.Courier.Sample(ctx, endpoint, one))
	last, _ := one.Last()
	one.End(last.State)
	return &attemptOutput{showAttempt(one)}, nil
}
