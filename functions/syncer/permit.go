package syncer

import (
	"context"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// permitted fetches a page under the policies: each request of the connector needs a permitted decision on its host. A
// refusal ends the run, and its decision is stored with the run's end. A decision that permits is not stored, because the run
// tells what was fetched.
func (s *slice) permitted(
	ctx context.Context, i integration.Integration, fetch func(context.Context) (connector.FetchedPage, error),
) (connector.FetchedPage, error) {
	var refusal *policy.Decision
	page, err := fetch(outbound.WithPermit(ctx, func(ctx context.Context, host string) error {
		d, err := s.decide(ctx, i, strings.ToLower(host))
		if err != nil || d.Verdict == policy.Permitted {
			return err
		}
		refusal = &d
		return refused(d)
	}))
	if refusal == nil {
		return page, err
	}
	s.refusal = refusal
	return connector.FetchedPage{}, final(refused(*refusal))
}

// decide asks for the verdict on a host.
func (s *slice) decide(ctx context.Context, i integration.Integration, host string) (policy.Decision, error) {
	now := s.Now().UTC()
	r := policy.Request{
		Principal: timeline.Reference{Type: integration.Entity, ID: i.Provider},
		Action:    policy.SyncFetch,
		Resource:  timeline.Reference{Type: policy.Host, ID: host},
		Context: policy.Context{
			Kind: i.Kind, Port: string(integration.SyncPull), Enabled: i.Enabled, Certified: i.IsCertified(now),
		},
		Item:    policy.Item{Provider: i.Provider, Title: host},
		Payload: host,
	}
	for _, port := range i.Permissions {
		r.Context.Permissions = append(r.Context.Permissions, string(port))
	}
	d, err := policy.Ask(ctx, s.Engine, s.company, r, now)
	d.DryRun = s.record.Mode == syncrun.Sandbox
	return d, err
}

func refused(d policy.Decision) error {
	return fault.Newf(fault.Forbidden, "the policies refuse a fetch from %s: %s", d.Resource.ID, strings.Join(d.Reasons, "; "))
}
