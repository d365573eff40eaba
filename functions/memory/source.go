package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Where the parts of a source stand in a request.
const (
	currentAt  = "/measure/current"
	providerAt = "/measure/source/provider"
	streamAt   = "/measure/source/stream"
)

// told refuses a value in a request for a goal whose source gives it.
func told(current string, source *goal.Source) (problems []fault.FieldError) {
	if current != "" && source != nil {
		problems = append(problems, fault.FieldError{Pointer: currentAt, Detail: "comes from the source; leave it out, or set source to null"})
	}
	return problems
}

// fresh returns a source as a request gives it, which has not ended.
func fresh(s *goal.Source) *goal.Source {
	if s == nil {
		return nil
	}
	again := *s
	again.EndedAt = nil
	return &again
}

// started returns the measure of a request. If it has no value and nothing gives one, it starts at 0, from where its direction must lead to
// the target.
func started(m *goal.Measure) *goal.Measure {
	if m.Source != nil || m.Start != "" || m.Current != "" {
		return m
	}
	from := *m
	from.Start = "0"
	return &from
}

// resource returns the writes by which integrations learn that they measure a goal, or no longer do. The zero Goal stands for a goal that
// is new, or is to be deleted. It checks a source that is new.
func (d Deps) resource(ctx context.Context, old, g goal.Goal, now time.Time) (ops []store.Op, err error) {
	was, had := old.Source()
	is, has := g.Source()
	if had && (!has || was.Provider != is.Provider) {
		if ops, err = d.unlink(ctx, was.Provider, old.ID, now); err != nil {
			return nil, err
		}
	}
	if !has || had && was == is {
		return ops, nil
	}
	op, err := d.link(ctx, is, g.ID, now)
	return append(ops, op...), err
}

// link returns the write by which an integration measures a goal. It gives the integration the permission for that, unless a founder has
// taken it away.
func (d Deps) link(ctx context.Context, s goal.Source, goalID string, now time.Time) ([]store.Op, error) {
	c := web.Tenant(ctx)
	i, version, err := integration.Load(ctx, c, s.Provider)
	if fault.KindOf(err) == fault.NotFound {
		return nil, unknown(ctx, s.Provider)
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if err := i.Usable(); err != nil {
		return nil, err
	}
	conn, err := d.Connectors.Of(ctx, c, i)
	if err != nil {
		return nil, err
	}
	streams := connector.StreamsOf(conn, i.Config)
	if len(streams) == 0 {
		return nil, d.unmeasurable(ctx, s.Provider)
	}
	if !slices.Contains(streams, s.Stream) {
		return nil, fault.RefuseAt(streamAt, fmt.Sprintf("%s has no such list; it has %s", i.Kind, strings.Join(streams, ", ")))
	}
	if slices.Contains(i.Goals, goalID) {
		return nil, nil
	}
	if len(i.Goals) >= goal.MaxSourced {
		return nil, fault.Newf(fault.Conflict, "%s measures %d goals, which is the most; take the source from one of them first", s.Provider, goal.MaxSourced)
	}
	ports := conn.Ports(i.Config)
	if i.Narrowed && !i.Has(integration.GoalUpdate) && slices.Contains(ports, integration.GoalUpdate) {
		return nil, fault.RefuseAt(providerAt, fmt.Sprintf("the permissions of %s leave out goal.update; configure it with that permission first", s.Provider))
	}
	i.Goals, i.UpdatedAt = append(slices.Clone(i.Goals), goalID), now
	i.Permissions = i.Asks(i.Permissions)
	return []store.Op{c.Replace(integration.Key(i.Provider), integration.Entity, version, i)}, nil
}

// unmeasurable refuses an integration without such lists, and names those of the company that have some.
func (d Deps) unmeasurable(ctx context.Context, provider string) error {
	c := web.Tenant(ctx)
	all, err := integration.List(ctx, c)
	if err != nil {
		return store.Fault(err, "")
	}
	var others []string
	for _, i := range all {
		if i.IsDamaged() {
			continue
		}
		conn, err := d.Connectors.Of(ctx, c, i.Integration)
		if err == nil && len(connector.StreamsOf(conn, i.Config)) > 0 {
			others = append(others, i.Provider)
		}
	}
	can := "no configured integration has; list-connectors names the lists of each connector as streams, and a query of postgresql is a list too"
	if len(others) > 0 {
		can = "a source can be a list of " + strings.Join(others, ", ")
	}
	return fault.RefuseAt(providerAt, fmt.Sprintf("%s has no lists whose records have numbers; %s", provider, can))
}

// unlink returns the write by which an integration no longer measures a goal. With the last one it loses the permission that it had for them,
// unless its manifest cannot be used, which says whether it needs that permission itself.
func (d Deps) unlink(ctx context.Context, provider, goalID string, now time.Time) ([]store.Op, error) {
	c := web.Tenant(ctx)
	i, version, err := integration.Load(ctx, c, provider)
	if fault.KindOf(err) == fault.NotFound || err == nil && (i.IsDamaged() || !slices.Contains(i.Goals, goalID)) {
		return nil, nil
	}
	if err != nil {
		return nil, store.Fault(err, "")
	}
	i.Goals, i.UpdatedAt = slices.DeleteFunc(slices.Clone(i.Goals), func(one string) bool { return one == goalID }), now
	if len(i.Goals) == 0 {
		conn, err := d.Connectors.Of(ctx, c, i)
		switch kind := fault.KindOf(err); {
		case kind == fault.Conflict || kind == fault.NotFound:
		case err != nil:
			return nil, err
		case !slices.Contains(conn.Ports(i.Config), integration.GoalUpdate):
			i.Permissions = slices.DeleteFunc(slices.Clone(i.Permissions), func(p integration.Port) bool { return p == integration.GoalUpdate })
		}
	}
	return []store.Op{c.Replace(integration.Key(i.Provider), integration.Entity, version, i)}, nil
}

// unknown refuses an integration that the company does not have, and names those that it has.
func unknown(ctx context.Context, provider string) error {
	all, err := integration.List(ctx, web.Tenant(ctx))
	if err != nil {
		return store.Fault(err, "")
	}
	names := make([]string, len(all))
	for n, i := range all {
		names[n] = i.Provider
	}
	has := "none is configured"
	if len(names) > 0 {
		has = "configured are " + strings.Join(names, ", ")
	}
	return fault.RefuseAt(providerAt, fmt.Sprintf("there is no integration %q; %s", provider, has))
}
