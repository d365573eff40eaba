package policyengine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// counted wraps a store, counts its reads and can make them fail.
type counted struct {
	store.Store
	reads int
	err   error
}

func (c *counted) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	c.reads++
	if c.err != nil {
		return store.Item{}, c.err
	}
	return c.Store.Get(ctx, p, key)
}

// desk holds an engine over a counted store.
type desk struct {
	t      testing.TB
	reads  *counted
	clock  *clocktest.Clock
	engine *policyengine.Engine
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	clock := clocktest.At(now)
	return &desk{t: t, reads: &counted{Store: webtest.OpenStore(t)}, clock: clock, engine: policyengine.New(clock.Now)}
}

func (d *desk) company(id string) store.Company { return store.For(d.reads, id) }

// put stores a company's policies.
func (d *desk) put(company string, all ...policy.Statement) {
	d.t.Helper()
	c := store.For(d.reads.Store, company)
	_, version, err := policy.Load(d.t.Context(), c)
	errtest.Must(d.t, err)
	errtest.Must(d.t, c.Commit(d.t.Context(), policy.Save(c, version, policy.Stored{Policies: all})))
}

func (d *desk) want(company string, want policy.Verdict) policy.Decision {
	d.t.Helper()
	got, err := d.engine.Decide(d.t.Context(), d.company(company), request())
	errtest.Must(d.t, err)
	if got.Verdict != want {
		d.t.Errorf("company %s: verdict = %s, want %s", company, got.Verdict, want)
	}
	return got
}

func frozen() policy.Statement {
	return statement(`@reason("frozen") forbid (principal, action, resource);`)
}

// The policies of a company decide about its actions alone, from the time at which the read ones are no longer fresh.
func TestEngine_Decide_Company(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	before := d.want("a", policy.Permitted)
	d.put("a", frozen())
	d.want("a", policy.Permitted)
	d.clock.Advance(policyengine.Fresh)
	after := d.want("a", policy.Denied)
	if before.PolicySet == after.PolicySet {
		t.Errorf("both decisions have the policy set %s, want two", after.PolicySet)
	}
	if got := strings.Join(after.Reasons, " "); got != "frozen" {
		t.Errorf("reasons = %q, want frozen", got)
	}
	if got := d.want("b", policy.Permitted).PolicySet; got != before.PolicySet {
		t.Errorf("policy set of another company = %s, want that of the service, %s", got, before.PolicySet)
	}
	d.put("a")
	d.clock.Advance(policyengine.Fresh)
	d.want("a", policy.Permitted)
}

// A request that asks for the current policies, and a process that has changed them, do not wait.
func TestEngine_Decide_Current(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.want("a", policy.Permitted)
	d.put("a", frozen())
	r := request()
	r.Current = true
	got, err := d.engine.Decide(t.Context(), d.company("a"), r)
	errtest.Must(t, err)
	if got.Verdict != policy.Denied {
		t.Errorf("verdict of the current policies = %s, want %s", got.Verdict, policy.Denied)
	}
	d.put("a")
	d.engine.Forget("a")
	d.want("a", policy.Permitted)
}

// The decisions of one moment cost one read, and none beyond it while the policies stay the same.
func TestEngine_Decide_Reads(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("a", frozen())
	for range 100 {
		d.want("a", policy.Denied)
	}
	if d.reads.reads != 1 {
		t.Errorf("%d reads for 100 decisions, want 1", d.reads.reads)
	}
}

// Without the company's policies there is no verdict, even if older ones are known.
func TestEngine_Decide_Unread(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.want("a", policy.Permitted)
	d.clock.Advance(policyengine.Fresh)
	d.reads.err = errors.New("store lost")
	if got, err := d.engine.Decide(t.Context(), d.company("a"), request()); err == nil {
		t.Errorf("verdict = %s, want an error", got.Verdict)
	}
	d.reads.err = nil
	d.put("a", statement("permit"))
	if got, err := d.engine.Decide(t.Context(), d.company("a"), request()); err == nil {
		t.Errorf("verdict under policies that do not compile = %s, want an error", got.Verdict)
	}
}

// An engine does not keep the policies of every company compiled.
func TestEngine_Decide_Many(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var long []policy.Statement
	for n := range 8 {
		one := frozen()
		one.ID = fmt.Sprint("own-", n)
		one.Text += strings.Repeat(" ", policy.MaxText-len(one.Text))
		long = append(long, one)
	}
	const companies = 150 // their texts have more bytes than an engine keeps
	for n := range companies {
		d.put(fmt.Sprint(n), long...)
		d.want(fmt.Sprint(n), policy.Denied)
	}
	if held := d.engine.Held(); held > 8<<20 {
		t.Errorf("the engine holds %d bytes of policies, want 8 MiB at most", held)
	}
	d.reads.reads = 0
	d.clock.Advance(time.Millisecond)
	for n := range companies {
		d.want(fmt.Sprint(n), policy.Denied)
	}
	if d.reads.reads == 0 {
		t.Error("the engine kept the policies of every company")
	}
}
