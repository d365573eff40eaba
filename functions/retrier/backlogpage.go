package retrier

import (
	"bytes"
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

type page struct {
	next string // where the page after it begins; "": nowhere
	all  int    // deliveries that the recovery sends
	left int    // of them, those that have not ended
}

type parcel struct {
	page    *page
	key     string
	version int64
	size    int // of the record
	delivery.Delivery
}

// read reads the next page. A delivery that stands in a line, or goes on with its schedule, goes into the queue.
func (b *backlog) read(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	q := b.rec.Window()
	q.After, q.Limit = b.after, sendPage
	items, err := b.company.Query(ctx, q)
	if err != nil {
		b.fail = err
		return
	}
	p := &page{next: items.Next}
	now := b.Now().UTC()
	queued := batch{backlog: b, lines: delivery.NewLines(b.company)}
	for _, item := range items.Items {
		if delivery.EndpointOf(item.Key) != b.rec.Provider || b.passes(item.Body) {
			continue
		}
		one := parcel{page: p, key: item.Key, version: item.Version, size: len(item.Body)}
		if err := item.Decode(&one.Delivery); err != nil {
			b.fail = err
			return
		}
		switch sent := one.Recovery == b.rec.ID; {
		case sent:
			p.all++
		case !b.rec.Includes(one.Delivery, now):
		case one.Open() || one.Line != "":
			p.all++
			if b.fail = queued.add(ctx, one, now); b.fail != nil {
				return
			}
		default:
			p.all, p.left = p.all+1, p.left+1
			b.waiting = append(b.waiting, one)
		}
	}
	if b.fail = queued.commit(ctx); b.fail != nil {
		return
	}
	b.portion(queued.joined, now)
	b.pages = append(b.pages, p)
	b.after = p.next
	if b.reads++; b.reads > 1 { // so that a change of the endpoint counts soon
		b.endpoint = nil
	}
	b.advance(ctx)
}

// passes reports whether a delivery need not be decoded: it was delivered, and not by this recovery.
func (b *backlog) passes(body []byte) bool {
	return delivery.StateOf(body) == delivery.Delivered && !bytes.Contains(body, []byte(b.rec.ID))
}

// batchBytes bounds the total size of the deliveries in one transaction.
const batchBytes = store.MaxCommit / 2

// batch puts deliveries into the queue, many in one transaction.
type batch struct {
	*backlog
	lines  *delivery.Lines
	ops    []store.Op
	size   int
	joined int // deliveries of lines, so far
}

// add adds a delivery, after a commit if the transaction has no room for it: its own write, that of its line, and that of the line's new
// head if the head was lost.
func (q *batch) add(ctx context.Context, one parcel, now time.Time) error {
	if len(q.ops)+q.lines.Size()+3 > store.MaxOps || len(q.ops) > 0 && q.size+one.size > batchBytes {
		if err := q.commit(ctx); err != nil {
			return err
		}
	}
	if one.Open() { // it is overdue and goes on with its schedule
		one.Enqueue(now)
	} else if err := q.lines.Join(ctx, &one.Delivery, now); err != nil {
		return err
	}
	one.Recovery = q.rec.ID
	q.ops = append(q.ops, one.Save(q.company, one.version))
	if q.size += one.size; one.Line != "" {
		q.joined++
	}
	return nil
}

func (q *batch) commit(ctx context.Context) error {
	if len(q.ops) == 0 {
		return nil
	}
	err := q.company.Commit(store.Patiently(ctx), q.lines.Ops(q.ops...)...)
	q.lines, q.ops, q.size = delivery.NewLines(q.company), nil, 0
	return err
}

// advance moves the recovery past its finished pages.
func (b *backlog) advance(ctx context.Context) {
	sent := false
	for len(b.pages) > 0 && b.pages[0].left == 0 {
		p := b.pages[0]
		b.rec.After, b.rec.Recovered = p.next, b.rec.Recovered+p.all
		b.pages, b.changed, sent = b.pages[1:], true, sent || p.all > 0
	}
	if b.complete() && len(b.pages) == 0 && b.changed {
		b.rec.Finish(b.Now())
	}
	if sent && b.fail == nil {
		b.save(ctx)
	}
}

func (b *backlog) save(ctx context.Context) {
	err := b.company.Commit(context.WithoutCancel(ctx), b.rec.Save(b.company, b.version))
	if b.changed = false; err != nil {
		b.fail = errors.Join(b.fail, err)
		return
	}
	b.version++
}
