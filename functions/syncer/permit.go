package syncer

import (
	"context"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/egress"
)

// permitted fetches a page under the policies. A refusal ends the run, and its decision is stored with the run's end. A decision
// that permits is not stored, because the run tells what was fetched.
func (s *slice) permitted(
	ctx context.Context, i integration.Integration, fetch func(context.Context) (connector.FetchedPage, error),
) (connector.FetchedPage, error) {
	gate := egress.Gate{
		Engine: s.Engine, Company: s.company, Integration: i, DryRun: s.record.Mode == syncrun.Sandbox, Now: s.Now,
	}
	page, refusal, err := gate.Fetch(ctx, fetch)
	if refusal == nil {
		return page, err
	}
	s.refusal = refusal
	return page, final(err)
}
