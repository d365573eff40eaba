package ticker

import (
	"context"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

// Bounds of one firing of an overdue timer. If the timer reaches one, another timer continues a minute later.
const (
	overduePages = 20                  // pages of deliveries to read
	overdueItems = store.MaxOps - 2    // deliveries to write: the commit also has the timer and the next one
	overdueBytes = store.MaxCommit / 2 // total size of the deliveries to write
)

// overdue puts the overdue deliveries of a timer's subject into the queue again. Their queue messages were lost, or wait for a
// busy endpoint and then have no effect any more.
func (t *Ticker) overdue(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	q, ok := delivery.Overlooked(subject)
	if !ok {
		return nil, nil
	}
	now := t.Now().UTC()
	rest := func(ops []store.Op, after string) []store.Op {
		return append(ops, c.Timer(now.Add(time.Minute), delivery.OverdueTimer, delivery.Rest(subject, after)))
	}
	var ops []store.Op
	size := 0
	for range overduePages {
		page, err := c.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			var d delivery.Delivery
			if delivery.StateOf(item.Body) != delivery.Scheduled || item.Decode(&d) != nil || !d.Overdue(now) { // an unreadable one has no attempt either
				q.After = item.Key
				continue
			}
			if size += len(item.Body); len(ops) == overdueItems || size > overdueBytes && len(ops) > 0 {
				return rest(ops, q.After), nil
			}
			d.Enqueue(now)
			ops = append(ops, d.Save(c, item.Version))
			q.After = item.Key
		}
		if page.Next == "" {
			return ops, nil
		}
		q.After = page.Next
	}
	return rest(ops, q.After), nil
}
