package integrations

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/delivery"
)

// standings tells for one answer where deliveries stand whose endpoint may have been deleted since they were written. It reads each
// endpoint once.
type standings struct {
	Deps
	incarnations map[string]string // by endpoint; gone for a deleted one
	err          error             // why a read failed
}

func (d Deps) standings() *standings { return &standings{Deps: d, incarnations: map[string]string{}} }

// of returns a delivery as it is now. The record of a waiting delivery changes only when it is next due, but nothing is sent to a deleted
// endpoint any more, so it is held already.
func (s *standings) of(ctx context.Context, one delivery.Delivery) delivery.Delivery {
	if s.err != nil || !one.Open() && one.State != delivery.Waiting {
		return one
	}
	incarnation, known := s.incarnations[one.Endpoint]
	if !known {
		endpoint, err := s.load(ctx, one.Endpoint)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			s.err = err
			return one
		}
		incarnation = endpoint.Incarnation
		if err != nil {
			incarnation = gone
		}
		s.incarnations[one.Endpoint] = incarnation
	}
	if incarnation != one.Incarnation {
		one.Hold(delivery.HeldDeleted)
	}
	return one
}

// gone stands for the incarnation of an endpoint that is not there: deliveries never have it.
const gone = "gone"
