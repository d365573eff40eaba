package operations

import (
	"context"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// DeadLetter shows a delivery whose last attempt failed.
type DeadLetter struct {
	Provider        string    `json:"provider" doc:"the webhook integration" example:"webhook"`
	DeliveryID      string    `json:"deliveryId" doc:"the event's id; a delivery sends one event to one endpoint" format:"uuid"`
	Event           string    `json:"event" doc:"the event's name" example:"memory.updated"`
	EventAt         time.Time `json:"eventAt" doc:"the event's time"`
	At              time.Time `json:"at" doc:"when the last attempt was made"`
	Attempts        int       `json:"attempts" doc:"number of the last attempt" format:"int32"`
	Status          int       `json:"status,omitempty" doc:"HTTP status of the last answer" format:"int32"`
	Error           string    `json:"error,omitempty" doc:"why there was no answer, or why the answer counts as a failure"`
	ResponseExcerpt string    `json:"responseExcerpt,omitempty" doc:"the beginning of the last answer's body, at most 1 kB"`
	Href            string    `json:"href" doc:"the delivery with all attempts and its payload" example:"/companies/01890000-0000-7000-8000-000000000000/integrations/webhook/deliveries/01890000-0000-7000-8000-000000000001"`
}

type deadLettersInput struct {
	web.PageQuery
	Provider string    `query:"provider" maxLength:"64" doc:"only of this endpoint" example:"webhook"`
	Event    string    `query:"event" maxLength:"64" doc:"only of this event" example:"memory.updated"`
	Since    time.Time `query:"since" doc:"only events from this time on (RFC 3339)"`
	Until    time.Time `query:"until" doc:"only events up to this time (RFC 3339)"`
}

func (in *deadLettersInput) filters() []string {
	return []string{in.Provider, in.Event, in.Since.String(), in.Until.String()}
}

// keeps reports whether a delivery is a dead letter that passes the filters.
func (in *deadLettersInput) keeps(d delivery.Delivery) bool {
	return d.State == delivery.Dead && in.of(d) && (in.Event == "" || d.Event == in.Event)
}

// of reports whether a delivery is to a requested endpoint.
func (in *deadLettersInput) of(d delivery.Delivery) bool {
	return in.Provider == "" || d.Endpoint == in.Provider
}

// deadRange is a range of keys that holds so many dead letters of the requested endpoints, or fewer.
type deadRange struct {
	store.Query
	most int
}

// ranges returns the ranges of keys that hold all dead letters of the requested times, newest first. The context knows the
// days that have any, and how many, so the other days are not read, nor the rest of a day after its last one.
func (in *deadLettersInput) ranges(p projection.Context) []deadRange {
	var all []deadRange
	for _, s := range p.DeadLetters(func(endpoint string) bool { return in.Provider == "" || in.Provider == endpoint }) {
		from, to := s.From, s.To.Add(-time.Millisecond)
		if in.Since.After(from) {
			from = in.Since
		}
		if !in.Until.IsZero() && in.Until.Before(to) {
			to = in.Until
		}
		if !to.Before(from) {
			all = append(all, deadRange{store.Query{
				Prefix: delivery.Prefix, From: delivery.Prefix + id.First(from), To: delivery.Prefix + id.Last(to) + "~", Desc: true,
			}, s.Count})
		}
	}
	return all
}

// maxDeadPages bounds the stored pages that one request reads.
const maxDeadPages = 10

func (d Deps) listDeadLetters(ctx context.Context, in *deadLettersInput) (*web.PageOutput[DeadLetter], error) {
	if !in.Until.IsZero() && in.Until.Before(in.Since) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "#/query/until", Detail: "must not be before since"}})
	}
	after, err := in.After(ctx, in.filters()...)
	if err != nil {
		return nil, err
	}
	facts, err := d.Reader.Read(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, store.Fault(err, "")
	}
	var items []DeadLetter
	pages := 0
	for _, q := range in.ranges(facts.Context) {
		if after != "" && after <= q.From {
			continue // an earlier page has read it
		}
		if after < q.To {
			q.After = after
		}
		for {
			if pages++; pages > maxDeadPages || len(items) == in.Size() {
				return web.NewPage(ctx, items, after, in.filters()...), nil
			}
			q.Limit = in.Size() - len(items)
			page, err := web.Tenant(ctx).Query(ctx, q.Query)
			if err != nil {
				return nil, store.Fault(err, "")
			}
			var dead int
			if items, dead, err = in.take(ctx, items, page.Items); err != nil {
				return nil, err
			}
			q.most -= dead
			if after, q.After = page.Next, page.Next; page.Next == "" || q.most <= 0 {
				after = q.From
				break
			}
		}
	}
	return web.NewPage(ctx, items, "", in.filters()...), nil
}

// take adds the items that the listing keeps, and counts the dead letters of the requested endpoints.
func (in *deadLettersInput) take(ctx context.Context, to []DeadLetter, from []store.Item) (kept []DeadLetter, dead int, err error) {
	for _, item := range from {
		var one delivery.Delivery
		if err := item.Decode(&one); err != nil {
			return nil, 0, err
		}
		if one.State == delivery.Dead && in.of(one) {
			dead++
		}
		if in.keeps(one) {
			to = append(to, showDeadLetter(ctx, one))
		}
	}
	return to, dead, nil
}

func showDeadLetter(ctx context.Context, d delivery.Delivery) DeadLetter {
	last, _ := d.Last()
	return DeadLetter{
		Provider: d.Endpoint, DeliveryID: d.EventID, Event: d.Event, EventAt: d.CreatedAt, At: last.At, Attempts: last.Number,
		Status: last.Status, Error: last.Error, ResponseExcerpt: last.Excerpt,
		Href: fmt.Sprintf("%s/integrations/%s/deliveries/%s", web.CompanyPath(ctx), d.Endpoint, d.EventID),
	}
}
