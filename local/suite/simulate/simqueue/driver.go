package simqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/queue"
)

// Driver implements queue.Queue, without faults and with the clock of its caller. A message that SQS hands out before it is
// due is sent on with a further delay.
type Driver struct {
	Queue *Queue
	Now   func() time.Time
}

// Check returns an error for a message that the contract refuses.
func Check(messages ...queue.Message) error {
	for i := range messages {
		if n := len(messages[i].Body); n == 0 || n > queue.MaxBody {
			return fmt.Errorf("queue: message of %d bytes; send 1 to %d", n, queue.MaxBody)
		}
	}
	return nil
}

// Send implements queue.Queue.
func (d Driver) Send(ctx context.Context, messages ...queue.Message) error {
	if err := errors.Join(Check(messages...), ctx.Err()); err != nil {
		return err
	}
	for _, m := range messages {
		d.Queue.Send(d.Now(), Delay(d.Now(), m.Due), m, nil)
	}
	return nil
}

// Receive implements queue.Queue.
func (d Driver) Receive(ctx context.Context, most int, lease time.Duration) ([]queue.Received, error) {
	if most < 1 {
		return nil, fmt.Errorf("queue: receive of %d messages", most)
	}
	for ctx.Err() == nil {
		arrival := d.Queue.arrival()
		if got := d.take(min(most, queue.MaxBatch), lease); len(got) > 0 {
			return got, nil
		}
		wait := time.Hour
		if at, ok := d.Queue.Next(); ok {
			wait = at.Sub(d.Now())
		}
		timer := time.NewTimer(wait)
		select {
		case <-arrival:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil, nil
}

// take leases what is due and sends on what is not.
func (d Driver) take(most int, lease time.Duration) (got []queue.Received) {
	now := d.Now()
	for _, l := range d.Queue.Take(now, most, lease, nil) {
		if l.Due.After(now) {
			d.Queue.Send(now, Delay(now, l.Due), l.Message, nil)
			d.Queue.Delete(l.Receipt)
			continue
		}
		got = append(got, l.Received)
	}
	return got
}

// Ack implements queue.Queue.
func (d Driver) Ack(ctx context.Context, received ...queue.Received) error {
	if len(received) == 0 {
		return nil
	}
	for _, r := range received {
		d.Queue.Delete(r.Receipt)
	}
	return ctx.Err()
}

// Defer implements queue.Queue: it sends a copy and deletes the message, as the driver of SQS does.
func (d Driver) Defer(ctx context.Context, r queue.Received, due time.Time) error {
	r.Due = due
	if err := d.Send(ctx, r.Message); err != nil {
		return err
	}
	return d.Ack(ctx, r)
}

// Release implements queue.Queue.
func (d Driver) Release(_ context.Context, r queue.Received, after time.Duration) error {
	d.Queue.Hide(r.Receipt, d.Now().Add(after))
	return nil
}

// Bury implements queue.Queue.
func (d Driver) Bury(ctx context.Context, r queue.Received, reason string) error {
	d.Queue.Bury(d.Now(), r.Message, reason)
	return d.Ack(ctx, r)
}

// DeadLetters implements queue.Queue.
func (d Driver) DeadLetters(_ context.Context, most int) ([]queue.DeadLetter, error) {
	all := d.Queue.Dead()
	return all[:min(len(all), max(most, 0))], nil
}

// Redrive implements queue.Queue.
func (d Driver) Redrive(context.Context) (int, error) { return d.Queue.Redrive(d.Now()), nil }
