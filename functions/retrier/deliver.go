package retrier

import (
	"context"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// deliver asks for the due attempt of a delivery. due tells when to redeliver the message; zero means never. The record of a
// failed attempt asks for the next message, as every record of a scheduled delivery does. So all copies of a message end with
// its attempt. again reports that the message was received before.
func (r *Retrier) deliver(ctx context.Context, company store.Company, job delivery.Job, again bool) (due time.Time, err error) {
	o := r.Courier.Run(ctx, &courier.Task{
		Source: courier.Queue, Company: company, Key: delivery.Prefix + job.Delivery, Incarnation: job.Incarnation,
		Generation: job.Generation, Again: again, Failing: r.failing, Select: r.selector.Again,
	})
	return o.Until, o.Err
}

// failing tells since when an endpoint has been failing, zero if it is not. The company's context records it.
func (r *Retrier) failing(ctx context.Context, e *courier.Endpoint) time.Time {
	c, _, err := projection.Load(ctx, e.Company)
	if err != nil {
		r.Logger.WarnContext(ctx, "company context not read", "company", e.Company.ID(), "error", err)
		return time.Time{}
	}
	if c.Incarnations[e.Provider] != e.Incarnation { // the context does not show the endpoint yet
		return time.Time{}
	}
	return c.Integrations[e.Provider].FailingSince
}
