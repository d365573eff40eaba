package retrier

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// These shape one run of a recovery that sends its deliveries itself.
const (
	sendFor   = time.Minute       // attempts begin
	sendLease = 130 * time.Second // longer than a run and the attempts that it has begun
	sendPage  = 100               // deliveries of a query
	sendPause = 5 * time.Second   // a longer wait ends the run
	otherRun  = 10 * time.Second  // until a recovery asks again that found another one at work

	// An endpoint may answer faster than the store writes. More records than this are not kept waiting: each takes memory, and a crash
	// would repeat its attempt.
	mostUnrecorded = 64
)

// sending is a run of a recovery. It reads the deliveries a page at a time and attempts them at once, as many as the
// endpoint has slots for, without a message for each. So a delivery of a backlog costs one write, and its part of a page. A delivery
// whose attempt fails then has a message, as after every failed attempt.
//
// One run at a time sends to an endpoint. A run that is killed leaves the recovery at its last finished page. The next run
// recognises the deliveries that were recorded, by their recovery.
type sending struct {
	*Retrier
	company  store.Company
	rec      *delivery.StoredRecovery
	version  int64 // of rec
	endpoint *courier.Endpoint
	stale    bool // endpoint must be read again
	slot     courier.EndpointKey
	ends     time.Time // no attempt begins later

	pages    []*page // read and not finished, in order
	waiting  []parcel
	reads    int
	after    string // where the next page begins
	complete bool   // there is no next page
	changed  bool   // rec is ahead of the store

	results  chan result
	inFlight int // attempts, until they are recorded
	// unrecorded counts those of inFlight that have an answer.
	unrecorded atomic.Int64
	pause      time.Time // no attempt begins before
	broken     bool      // because of the breaker
	judged     bool      // an attempt of this run was delivered, or the endpoint's failures were looked at
	full       bool      // all slots that processes share are taken: an attempt must end first

	due  time.Time // not zero: the run ends, and the recovery goes on then
	fail error     // not nil: the run ends
}

// send runs a recovery for a while. due tells when to continue; zero means that the window is complete.
func (r *Retrier) send(ctx context.Context, e *courier.Endpoint, rec *delivery.StoredRecovery, version int64) (due time.Time, err error) {
	now := r.Now()
	end, err := r.claimEndpoint(ctx, e, rec)
	switch {
	case errors.Is(err, store.ErrConflict):
		return now.Add(otherRun + r.Courier.SpillDelay()), nil
	case err != nil:
		return time.Time{}, err
	}
	defer end()
	s := &sending{
		Retrier: r, company: e.Company, rec: rec, version: version, endpoint: e, slot: e.Key(),
		ends: now.Add(sendFor), after: rec.After, results: make(chan result),
	}
	return s.run(ctx)
}

// claimEndpoint makes sure that no other run sends to the endpoint until end is called. Otherwise the error is store.ErrConflict. A
// process that sends alone keeps the claim in memory, so that a restart ends it.
func (r *Retrier) claimEndpoint(ctx context.Context, e *courier.Endpoint, rec *delivery.StoredRecovery) (end func(), err error) {
	if !r.Courier.Shared {
		if _, busy := r.sending.LoadOrStore(e.Key(), true); busy {
			return nil, store.ErrConflict
		}
		return func() { r.sending.Delete(e.Key()) }, nil
	}
	ctx = context.WithoutCancel(ctx)
	key, lease := delivery.SendingKey(*rec), delivery.Lease{Recovery: rec.ID}
	err = e.Company.Commit(ctx, e.Company.Create(key, delivery.SendingEntity, lease).Until(r.Now().Add(sendLease)).Quietly())
	r.Courier.Recorded(e.Company.ID(), err)
	return func() {
		r.Courier.Yield(ctx, e)
		op := e.Company.Replace(key, delivery.SendingEntity, 1, lease).Until(r.Now()).Quietly()
		if err := e.Company.Commit(ctx, op); err != nil { // it expires
			r.Logger.WarnContext(ctx, "recovery's lease not ended", "company", e.Company.ID(), "provider", rec.Provider, "error", err)
		}
	}, err
}

// run sends until the window is complete, the time is over or something fails, and then waits for the attempts in flight.
func (s *sending) run(ctx context.Context) (due time.Time, err error) {
	for !s.over(ctx) {
		switch {
		case len(s.waiting) == 0 && !s.complete && !s.Now().Before(s.pause):
			s.read(ctx)
		case len(s.waiting) > 0 && (s.stale || s.endpoint.IsStale()):
			s.renew(ctx)
		case s.launch(ctx):
		case s.inFlight > 0:
			s.await(ctx)
		default:
			s.rest(ctx)
		}
	}
	for s.inFlight > 0 {
		s.take(ctx, <-s.results)
	}
	if s.changed {
		s.save(ctx)
	}
	switch {
	case s.fail != nil && !errors.Is(s.fail, store.ErrConflict): // a tenant or another worker was faster: read again
		return time.Time{}, s.fail
	case s.rec.State == delivery.RecoveryFinished && s.fail == nil:
		return time.Time{}, nil
	case s.due.IsZero():
		return s.Now(), nil
	}
	return s.due, nil
}

// over reports whether no attempt begins any more.
func (s *sending) over(ctx context.Context) bool {
	done := s.complete && len(s.waiting) == 0 && s.inFlight == 0
	return done || s.fail != nil || !s.due.IsZero() || ctx.Err() != nil || s.Now().After(s.ends)
}
