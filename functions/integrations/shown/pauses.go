package shown

import (
	"context"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// MaxPauses bounds the pauses that are read for one answer, and longestPause is the longest wait that an endpoint can ask for.
const (
	MaxPauses    = 20
	longestPause = 24 * time.Hour
)

// Pauses reads the pauses of endpoints for one answer.
type Pauses struct {
	Deps
	left int
}

// Pauses begins an answer.
func (d Deps) Pauses() *Pauses { return &Pauses{d, MaxPauses} }

// Of returns the pause of an integration, nil if it has none. An endpoint without a recent failure has none, and costs no read.
func (p *Pauses) Of(ctx context.Context, i integration.Integration, facts projection.Context) (pause *delivery.Pause, err error) {
	f := facts.Integrations[i.Provider]
	lately := !f.FailingSince.IsZero() || p.Now().Sub(f.LastFailureAt) < longestPause
	if i.Has(integration.EventDeliver) && lately && p.left > 0 {
		p.left--
		pause, err = p.PauseOf(ctx, i.Provider, i.Incarnation)
	}
	return pause, err
}

// PauseOf reads the pause of one incarnation of an endpoint, nil if it has none.
func (d Deps) PauseOf(ctx context.Context, provider, incarnation string) (*delivery.Pause, error) {
	_, pause, err := d.Courier.Breaker(ctx, web.Tenant(ctx), provider, incarnation)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return pause, nil
}
