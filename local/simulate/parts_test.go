package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"orgops/local/simulate/simqueue"
	"orgops/shared/domain/delivery"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// storeOf is the store as an environment sees it.
type storeOf struct{ e *environment }

// Get implements store.Store.
func (s storeOf) Get(ctx context.Context, p store.Partition, key string) (item store.Item, err error) {
	err = s.ask(ctx, read, fmt.Sprintf("get %s %s", p, key), func() error {
		var err error
		item, err = s.e.w.table.Get(s.e.now(), p, key)
		return err
	})
	return item, err
}

// Query implements store.Store.
func (s storeOf) Query(ctx context.Context, p store.Partition, q store.Query) (page store.Page, err error) {
	err = s.ask(ctx, read, fmt.Sprintf("query %s %s after %q", p, q.Prefix, q.After), func() error {
		page = s.e.w.table.Query(s.e.now(), p, q)
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
		id: s.e.who(ctx) + " " + what, kind: k, env: s.e.faulted(), refusal: store.ErrUnavailable, do: do,
	})
}

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
	var all []string
	for _, op := range ops {
		verb := [...]string{"put", "delete", "check"}[op.Action]
		all = append(all, fmt.Sprintf("%s %s %s at %d", verb, op.Partition, op.Key, op.Version))
	}
	return strings.Join(all, ", ")
}

// commit writes. An attempt whose record another worker was faster to write may be made again.
func (w *world) commit(e *environment, ops []store.Op) error {
	if e.f != nil && w.isHot(ops) {
		return store.ErrUnavailable
	}
	err := w.table.Commit(e.now(), ops...)
	if err == nil {
		w.record(e, deliveries(ops))
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
			q.e.w.enqueue(q.q, m, delay)
			return nil
		})
		if err != nil {
			return err
		}
		q.e.note(m)
	}
	return nil
}

// enqueue stores a message. It may be late or, as in every standard queue, be delivered twice. A delivery's may be lost.
func (w *world) enqueue(q *line, m queue.Message, delay time.Duration) {
	if w.faulty() && w.plan.on[lost] && bytes.Contains(m.Body, []byte(`"delivery":`)) && w.chance(10*w.plan.rate) {
		w.trace.add("%s loses %s", q.name, m.Body)
		return
	}
	if w.faulty() && w.plan.on[late] && w.chance(10*w.plan.rate) {
		delay += w.between(time.Second, time.Minute)
		w.trace.add("a message to %s is late by %v", q.name, delay)
	}
	id := q.Send(time.Now(), delay, m)
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
	return q.e.w.ask(ctx, &call{id: q.e.who(ctx) + " " + what, kind: k, env: q.e, refusal: queue.ErrUnavailable, do: do})
}

// keyring holds the companies' data keys and wraps them with nothing. The vault above it is the real one.
type keyring struct {
	mu   sync.Mutex
	keys map[string][]byte
}

// Get implements vault.KeyStore.
func (k *keyring) Get(_ context.Context, company string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key, ok := k.keys[company]; ok {
		return slices.Clone(key), nil
	}
	return nil, vault.ErrNoKey
}

// Create implements vault.KeyStore.
func (k *keyring) Create(_ context.Context, company string, wrapped []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.keys[company]; ok {
		return vault.ErrKeyExists
	}
	k.keys[company] = slices.Clone(wrapped)
	return nil
}

// Wrap implements vault.Wrapper.
func (k *keyring) Wrap(_ context.Context, _ string, key []byte) ([]byte, error) {
	return slices.Clone(key), nil
}

// Unwrap implements vault.Wrapper.
func (k *keyring) Unwrap(_ context.Context, _ string, wrapped []byte) ([]byte, error) {
	return slices.Clone(wrapped), nil
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
