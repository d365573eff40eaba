package retrier

import (
	"bytes"
	"context"
	"errors"
	"time"

	"orgops/shared/domain/delivery"
)

// page is a page of a recovery's deliveries.
type page struct {
	next string // where the page after it begins; "": nowhere
	all  int    // deliveries that the recovery sends
	left int    // of them, those that have not ended
}

// parcel is a delivery that waits for its attempt.
type parcel struct {
	page    *page
	key     string
	version int64
	delivery.Delivery
}

// read reads the next page. A delivery that stands in a line, or goes on with its schedule, goes into the queue.
func (s *sending) read(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	q := s.rec.Window()
	q.After, q.Limit = s.after, sendPage
	items, err := s.company.Query(ctx, q)
	if err != nil {
		s.fail = err
		return
	}
	p := &page{next: items.Next}
	now := s.Now().UTC()
	for _, item := range items.Items {
		if delivery.EndpointOf(item.Key) != s.rec.Provider || s.passes(item.Body) {
			continue
		}
		one := parcel{page: p, key: item.Key, version: item.Version}
		if err := item.Decode(&one.Delivery); err != nil {
			s.fail = err
			return
		}
		switch sent := one.Recovery == s.rec.ID; {
		case sent:
			p.all++
		case !s.rec.Includes(one.Delivery, now):
		case one.Open() || one.Line != "":
			if s.fail = s.enqueue(ctx, one, now); s.fail != nil {
				return
			}
			p.all++
		default:
			p.all, p.left = p.all+1, p.left+1
			s.waiting = append(s.waiting, one)
		}
	}
	s.pages = append(s.pages, p)
	s.after, s.complete = p.next, p.next == ""
	if s.reads++; s.reads == 1 {
		s.Courier.Reserve(ctx, s.endpoint, len(s.waiting))
	}
	s.stale = s.reads > 1 // so that a change of the endpoint counts soon
	s.pace()
	s.advance(ctx)
}

// passes reports whether a delivery need not be decoded: it was delivered, and not by this recovery.
func (s *sending) passes(body []byte) bool {
	return delivery.StateOf(body) == delivery.Delivered && !bytes.Contains(body, []byte(s.rec.ID))
}

// renew reads the endpoint.
func (s *sending) renew(ctx context.Context) {
	e, err := s.Courier.Endpoint(context.WithoutCancel(ctx), s.company, s.rec.Provider)
	if err != nil {
		s.fail = err
		return
	}
	s.endpoint, s.stale = e, false
}

// enqueue puts a delivery into the queue.
func (s *sending) enqueue(ctx context.Context, one parcel, now time.Time) error {
	lines := delivery.NewLines(s.company)
	if one.Open() {
		one.Enqueue(now)
	} else if err := lines.Join(ctx, &one.Delivery, now); err != nil {
		return err
	}
	one.Recovery = s.rec.ID
	op := s.company.Replace(one.key, delivery.Entity, one.version, one.Delivery).Until(one.Expires())
	err := s.company.Commit(ctx, append(lines.Ops(), op)...)
	s.Courier.Recorded(s.company.ID(), err)
	return err
}

// advance moves the recovery past its finished pages.
func (s *sending) advance(ctx context.Context) {
	sent := false
	for len(s.pages) > 0 && s.pages[0].left == 0 {
		p := s.pages[0]
		s.rec.After, s.rec.Recovered = p.next, s.rec.Recovered+p.all
		s.pages, s.changed, sent = s.pages[1:], true, sent || p.all > 0
	}
	if done := s.complete && len(s.pages) == 0; done && s.changed {
		now := s.Now().UTC()
		s.rec.State, s.rec.FinishedAt = delivery.RecoveryFinished, &now
	}
	if sent && s.fail == nil {
		s.save(ctx)
	}
}

// save writes the recovery.
func (s *sending) save(ctx context.Context) {
	op := s.company.Replace(delivery.RecoveryKey(s.rec.ID), delivery.RecoveryEntity, s.version, *s.rec).Until(s.rec.RequestedAt.Add(delivery.Kept))
	err := s.company.Commit(context.WithoutCancel(ctx), op)
	if s.changed = false; err != nil {
		s.fail = errors.Join(s.fail, err)
		return
	}
	s.version++
}
