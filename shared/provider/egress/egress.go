// Package egress asks the policy engine about each host that a fetch from a provider reaches. Syncs, certifications,
// previews and trials use it, so that all obey the same policies.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// Gate asks about the fetches of one integration.
type Gate struct {
	Engine      policy.Engine
	Company     store.Company
	Integration integration.Integration
	Now         func() time.Time

	// DryRun marks the decisions.
	DryRun bool
	// Certifying asks as if the integration were enabled and certified, because its certification has to come first.
	Certifying bool
}

// Decisions holds the decisions of a fetch that are worth storing.
type Decisions struct {
	Refusal *policy.Decision  // nil: every request was permitted
	Shadows []policy.Decision // of permitted hosts that the log-only policies would refuse; one decision for each host
}

// Fetch fetches a page under the policies: each request of the connector needs a permitted decision on its host. If the policies
// refuse a host, Fetch returns an error of kind fault.Forbidden, also if the connector ignored the refusal.
func (g Gate) Fetch(
	ctx context.Context, fetch func(context.Context) (connector.FetchedPage, error),
) (connector.FetchedPage, Decisions, error) {
	var found keeper
	page, err := fetch(outbound.WithPermit(ctx, func(ctx context.Context, host string) error {
		d, err := g.decide(ctx, host)
		if err != nil {
			return err
		}
		return found.keep(d)
	}))
	decided := found.all()
	if decided.Refusal == nil {
		return page, decided, err
	}
	return connector.FetchedPage{}, decided, refused(*decided.Refusal)
}

// keeper keeps the decisions of a fetch, of which the last refusal. A connector may send requests concurrently.
type keeper struct {
	mu   sync.Mutex
	kept Decisions
}

// keep returns an error for a decision that refuses.
func (k *keeper) keep(d policy.Decision) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.Verdict != policy.Permitted {
		k.kept.Refusal = &d
		return refused(d)
	}
	same := func(other policy.Decision) bool { return other.Resource == d.Resource }
	if d.Shadow != nil && !slices.ContainsFunc(k.kept.Shadows, same) {
		k.kept.Shadows = append(k.kept.Shadows, d)
	}
	return nil
}

func (k *keeper) all() Decisions {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept
}

// Explain says which host a decision refuses, and why.
func Explain(d policy.Decision) string {
	return fmt.Sprintf("the policies refuse a fetch from %s: %s", d.Resource.ID, strings.Join(d.Reasons, "; "))
}

func refused(d policy.Decision) error { return fault.New(fault.Forbidden, Explain(d)) }

// errNotASCII says why a host in other letters is refused. net/http converts such a host before it connects, so a policy about
// the converted one would not hold.
var errNotASCII = errors.New("the host is not in its ASCII form (xn--…)")

// Normalize returns a host as the policies name it: in lower case, and without the dots at its end, which lead to the same host.
// An address has its canonical form. Normalize returns an error, whose text a client may read, for a host with letters beyond
// ASCII.
func Normalize(host string) (string, error) {
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", errNotASCII
	}
	host = strings.TrimRight(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String(), nil
	}
	return host, nil
}

// decide asks for the verdict on a host. No policy can name a host that is not in ASCII, so it is denied.
func (g Gate) decide(ctx context.Context, host string) (d policy.Decision, err error) {
	now := g.Now().UTC()
	if name, problem := Normalize(host); problem != nil {
		d = policy.Deny(g.question(strings.ToValidUTF8(host, "\uFFFD"), now), problem.Error(), now)
	} else {
		d, err = policy.Ask(ctx, g.Engine, g.Company, g.question(name, now), now)
	}
	d.DryRun = g.DryRun
	return d, err
}

// question makes the request for a verdict on a host.
func (g Gate) question(host string, now time.Time) policy.Request {
	i := g.Integration
	r := policy.Request{
		Principal: timeline.Reference{Type: integration.Entity, ID: i.Provider},
		Action:    policy.SyncFetch,
		Resource:  timeline.Reference{Type: policy.Host, ID: host},
		Context: policy.Context{
			Kind: i.Kind, Port: string(integration.SyncPull), Enabled: i.Enabled || g.Certifying,
			Certified: i.IsCertified(now) || g.Certifying,
		},
		Item:    policy.Item{Provider: i.Provider, Title: host, Own: i.Manifest != nil},
		Payload: host,
	}
	for _, port := range i.Permissions {
		r.Context.Permissions = append(r.Context.Permissions, string(port))
	}
	return r
}
