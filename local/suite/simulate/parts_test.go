package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/local/suite/simulate/simqueue"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// storeOf is the store as an environment sees it.
type storeOf struct{ e *environment }

// Get implements store.Store.
func (s storeOf) Get(ctx context.Context, p store.Partition, key string) (item store.Item, err error) {
	err = s.ask(ctx, read, "get "+p.String()+" "+key, func() error {
		var err error
		item, err = s.e.w.table.Get(s.e.now(), p, key)
		s.e.billRead(item)
		return err
	})
	return item, err
}

// GetMany implements store.Store.
func (s storeOf) GetMany(ctx context.Context, p store.Partition, keys []string) (items []store.Item, err error) {
	err = s.ask(ctx, read, "get "+p.String()+" "+strings.Join(keys, " "), func() error {
		var err error
		items, err = s.e.w.table.GetMany(s.e.now(), p, keys)
		s.e.billRead(items...)
		return err
	})
	return items, err
}

// Query implements store.Store.
func (s storeOf) Query(ctx context.Context, p store.Partition, q store.Query) (page store.Page, err error) {
	err = s.ask(ctx, read, "query "+p.String()+" "+q.Prefix+" after "+strconv.Quote(q.After), func() error {
		page = s.e.w.table.Query(s.e.now(), p, q)
		s.e.billRead(page.Items...)
		return nil
	})
	return page, err
}

// Commit implements store.Store.
func (s storeOf) Commit(ctx context.Context, ops ...store.Op) error {
	return s.ask(ctx, commit, "commit "+describe(ops), func() error { return s.e.w.commit(s.e, ops) })
}

func (s storeOf) ask(ctx context.Context, k kind, what string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.e.w.ask(ctx, &call{
		id: s.e.who(ctx) + " " + what, kind: k, env: s.e.faulted(), at: time.Now().Add(s.e.w.latency), refusal: store.ErrUnavailable, do: do,
	})
}

// spreadOf is the store as the projector sees it: of companies in eight sub-partitions in half of the seeds with splits. The simulated
// table serves one key as fast as eight, but the projector gathers.
type spreadOf struct{ storeOf }

// Parts implements store.Spreader.
func (s spreadOf) Parts(context.Context, string) (int, error) {
	if s.e.w.plan.on[split] && s.e.w.seed%2 == 0 {
		return 8, nil
	}
	return 1, nil
}

// Spread implements store.Spreader.
func (s spreadOf) Spread(_ context.Context, _ string, parts int) (int, error) { return parts, nil }

// deliveries lists the deliveries that ops write, each as its company and key.
func deliveries(ops []store.Op) (all []string) {
	for _, op := range ops {
		if company, ok := op.Partition.CompanyID(); ok && op.Entity == delivery.Entity {
			all = append(all, company+" "+op.Key)
		}
	}
	return all
}

func describe(ops []store.Op) string {
	var all []byte
	for i := range ops {
		if i > 0 {
			all = append(all, ", "...)
		}
		op := &ops[i]
		all = append(all, [...]string{"put ", "delete ", "check "}[op.Action]...)
		all = append(append(append(append(all, op.Partition.String()...), ' '), op.Key...), " at "...)
		all = strconv.AppendInt(all, op.Version, 10)
	}
	return string(all)
}

// commit writes. An attempt whose record another worker was faster to write may be made again.
func (w *world) commit(e *environment, ops []store.Op) error {
	if e.f != nil && w.isHot(ops) {
		e.fault()
		return store.ErrUnavailable
	}
	err := w.table.Commit(e.now(), ops...)
	e.billWrite(ops)
	if err == nil {
		w.record(e, deliveries(ops))
		w.advanceTick(ops)
		if w.committed != nil {
			w.committed(e, ops)
		}
	}
	if errors.Is(err, store.ErrConflict) && !w.plan.on[strictness] {
		w.excuse(e, deliveries(ops), "another worker wrote the record")
	}
	return err
}

// queueOf is a queue as an environment sees it.
type queueOf struct {
	e *environment
	q *line
}

// line is one of the two queues.
type line struct {
	*simqueue.Queue
	name string
}

// Send implements queue.Queue. Each message is its own entry of a batch, so some may be sent and others not.
func (q queueOf) Send(ctx context.Context, messages ...queue.Message) error {
	if err := simqueue.Check(messages...); err != nil {
		return err
	}
	for _, m := range messages {
		delay := simqueue.Delay(q.e.now(), m.Due)
		err := q.ask(ctx, send, fmt.Sprintf("send to %s %s in %v", q.q.name, m.Body, delay), func() error {
			q.e.w.checkSent(q, m)
			q.e.w.enqueue(q, m, delay)
			return nil
		})
		if err != nil {
			return err
		}
		q.e.note(m)
	}
	return nil
}

// enqueue stores a message. It may be late or, as in every standard queue, be delivered twice. It may be lost.
func (w *world) enqueue(from queueOf, m queue.Message, delay time.Duration) {
	q := from.q
	if w.faulty() && w.plan.on[lost] && w.chance(10*w.plan.rate) {
		w.trace.add("%s loses %s", q.name, m.Body)
		return
	}
	if w.faulty() && w.plan.on[late] && w.chance(10*w.plan.rate) {
		delay += w.between(time.Second, time.Minute)
		w.trace.add("a message to %s is late by %v", q.name, delay)
	}
	id := q.Send(time.Now(), delay, m, from.e.lineage())
	if w.faulty() && w.plan.on[twice] && w.chance(w.plan.rate) {
		w.trace.add("%s has %s twice", q.name, id)
		q.Copy(id, time.Now().Add(delay+w.between(0, time.Minute)))
	}
}

// Receive implements queue.Queue. Lambda receives, not the function.
func (q queueOf) Receive(context.Context, int, time.Duration) ([]queue.Received, error) {
	return nil, errors.New("a function does not receive")
}

// Ack implements queue.Queue.
func (q queueOf) Ack(ctx context.Context, received ...queue.Received) error {
	for _, r := range received {
		err := q.ask(ctx, remove, fmt.Sprintf("delete from %s %s", q.q.name, r.Receipt), func() error {
			q.q.Delete(r.Receipt)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Defer implements queue.Queue as the driver of SQS does: send, then delete.
func (q queueOf) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	r.Due = due
	if err := q.Send(ctx, r.Message); err != nil {
		return err
	}
	return q.Ack(ctx, r)
}

// Release implements queue.Queue.
func (q queueOf) Release(ctx context.Context, r queue.Received, after time.Duration) error {
	return q.ask(ctx, hide, fmt.Sprintf("release in %s %s after %v", q.q.name, r.Receipt, after), func() error {
		q.q.Hide(r.Receipt, time.Now().Add(after))
		return nil
	})
}

// Bury implements queue.Queue as the driver of SQS does: send, then delete.
func (q queueOf) Bury(ctx context.Context, r queue.Received, reason string) error {
	err := q.ask(ctx, send, fmt.Sprintf("bury in %s %s", q.q.name, r.Receipt), func() error {
		q.q.Bury(time.Now(), r.Message, reason)
		return nil
	})
	if err != nil {
		return err
	}
	return q.Ack(ctx, r)
}

// DeadLetters implements queue.Queue.
func (q queueOf) DeadLetters(context.Context, int) ([]queue.DeadLetter, error) {
	return nil, errors.New("a function does not list dead letters")
}

// Redrive implements queue.Queue.
func (q queueOf) Redrive(context.Context) (int, error) {
	return 0, errors.New("a function does not redrive")
}

func (q queueOf) ask(ctx context.Context, k kind, what string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return q.e.w.ask(ctx, &call{
		id: q.e.who(ctx) + " " + what, kind: k, env: q.e, at: time.Now().Add(q.e.w.latency), refusal: queue.ErrUnavailable, do: do,
	})
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
