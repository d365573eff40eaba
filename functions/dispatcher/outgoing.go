package dispatcher

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/queue"
	"orgops/shared/recovery"
	"orgops/shared/store"
	"orgops/shared/syncrun"
)

// outgoing is the queue messages that a batch of changes asks for.
type outgoing struct {
	retries []queue.Message
	syncs   []queue.Message
}

// of adds the messages of one change: a sync run that is requested or to be cancelled (the message that it has may be due
// much later), a requested recovery, a delivery put into the queue.
func (o *outgoing) of(c store.Change) error {
	if c.New == nil {
		return nil
	}
	switch c.Entity {
	case syncrun.Entity:
		if c.Old == nil || !bytes.Contains(c.Old.Body, cancel()) && bytes.Contains(c.New.Body, cancel()) {
			return add(&o.syncs, c.Company, time.Time{}, syncrun.Job{Company: c.Company, Run: c.Key[len(syncrun.Prefix):]})
		}
	case recovery.Entity:
		if c.Old == nil {
			return add(&o.retries, c.Company, time.Time{}, delivery.Job{Company: c.Company, Recovery: c.Key[len(recovery.Prefix):]})
		}
	case delivery.Entity:
		return o.ofDelivery(c)
	}
	return nil
}

// cancel is in the record of a run that is to be cancelled. A text cannot hold it, because its quotes are escaped.
func cancel() []byte { return []byte(`"cancelRequested":true`) }

func (o *outgoing) ofDelivery(c store.Change) error {
	if !bytes.Contains(c.New.Body, []byte(`"requests"`)) { // almost all: delivered at once
		return nil
	}
	type requested struct {
		Requests      int        `json:"requests"`
		NextAttemptAt *time.Time `json:"nextAttemptAt"`
	}
	var was, is requested
	if c.Old != nil {
		if err := json.Unmarshal(c.Old.Body, &was); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(c.New.Body, &is); err != nil {
		return err
	}
	if is.Requests <= was.Requests || is.NextAttemptAt == nil {
		return nil
	}
	job := delivery.Job{Company: c.Company, Delivery: c.Key[len(delivery.Prefix):], Request: is.Requests}
	return add(&o.retries, c.Company, *is.NextAttemptAt, job)
}

func add(to *[]queue.Message, company string, due time.Time, job any) error {
	body, err := json.Marshal(job)
	if err == nil {
		*to = append(*to, queue.Message{Body: body, Group: company, Due: due})
	}
	return err
}

// send puts the messages into their queues without holding up the batches behind; the batch is finished when they are
// stored. A message sent twice is found out by its receiver.
func (d *Dispatcher) send(ctx context.Context, o outgoing, work *tracker) {
	for _, q := range []struct {
		queue    queue.Queue
		messages []queue.Message
	}{{d.Retries, o.retries}, {d.Syncs, o.syncs}} {
		if len(q.messages) == 0 {
			continue
		}
		work.add()
		go func() {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			work.finish(q.queue.Send(ctx, q.messages...))
		}()
	}
}
