package syncer

import (
	"context"
	"slices"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/egress"
	"orgops/shared/storage/store"
)

// permitted fetches a page under the policies. A refusal ends the run, and its decision is stored with the run's end. A decision
// that permits is stored only for the verdict of the log-only policies, because the run tells what was fetched.
func (s *slice) permitted(
	ctx context.Context, i integration.Integration, fetch func(context.Context) (connector.FetchedPage, error),
) (connector.FetchedPage, error) {
	gate := egress.Gate{
		Engine: s.Engine, Company: s.company, Integration: i, DryRun: s.record.Mode == syncrun.Sandbox, Now: s.Now,
	}
	page, decided, err := gate.Fetch(ctx, fetch)
	if kept := s.keepShadows(context.WithoutCancel(ctx), decided.Shadows); err == nil {
		err = kept
	}
	if decided.Refusal == nil {
		return page, err
	}
	s.refusal = decided.Refusal
	return page, final(err)
}

// maxShadowed limits the hosts of a run whose decisions are stored for the verdict of the log-only policies.
const maxShadowed = 8

// keepShadows stores the decisions on hosts that the run has not stored yet. It needs a write of its own once for each host and
// run, and only with such policies.
func (s *slice) keepShadows(ctx context.Context, decisions []policy.Decision) error {
	shadowed := slices.Clone(s.record.Work.Shadowed)
	var fresh []policy.Decision
	for _, d := range decisions {
		if len(shadowed) < maxShadowed && !slices.Contains(shadowed, d.Resource.ID) {
			shadowed, fresh = append(shadowed, d.Resource.ID), append(fresh, d)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	s.record.Work.Shadowed = shadowed
	return s.commit(ctx, []store.Op{policy.CreatePage(s.company, fresh)})
}
