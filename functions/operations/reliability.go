package operations

import (
	"context"
	"time"

	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// maxBreakers bounds the endpoints whose breakers are read for one answer.
const maxBreakers = 20

// getReliability computes the answer from the company's context. It also reads the breakers of the endpoints that have failed lately,
// so the answer's tag is that of the content.
func (d Deps) getReliability(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[assessment.Reliability], error) {
	r, err := d.reliability(ctx)
	if err != nil {
		return nil, err
	}
	return web.RespondContent(*in, r)
}

func (d Deps) reliability(ctx context.Context) (assessment.Reliability, error) {
	c := web.Tenant(ctx)
	facts, err := d.Reader.Read(ctx, c)
	if err != nil {
		return assessment.Reliability{}, store.Fault(err, "")
	}
	r := assessment.ReliabilityOf(facts.Context, facts.AsOf)
	read := 0
	for i, e := range r.Endpoints {
		if !maybePaused(facts.Integrations[e.Provider], facts.AsOf) {
			continue
		}
		if read++; read > maxBreakers {
			r.Endpoints[i].Breaker = assessment.BreakerUnknown
			continue
		}
		state, pause, err := d.Courier.Breaker(ctx, c, e.Provider, facts.Incarnations[e.Provider])
		if err != nil {
			return assessment.Reliability{}, store.Fault(err, "")
		}
		r.Endpoints[i].Breaker, r.Endpoints[i].Paused = string(state), pause
	}
	return r, nil
}

// longestPause is the longest wait that an endpoint can ask for.
const longestPause = 24 * time.Hour

// maybePaused reports whether the breaker of an endpoint is read: it is closed if no attempt has failed lately.
func maybePaused(i projection.Integration, now time.Time) bool {
	return !i.FailingSince.IsZero() || now.Sub(i.LastFailureAt) < longestPause
}
