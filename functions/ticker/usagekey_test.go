package ticker_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
)

// gateway holds the usage keys of companies, each as company/plan.
type gateway struct {
	keys      map[string]bool
	withdrawn func() // called after a key is deleted; nil: nothing
}

func (g *gateway) Enrol(_ context.Context, companyID, plan string) error {
	g.keys[companyID+"/"+plan] = true
	return nil
}

func (g *gateway) Withdraw(_ context.Context, companyID, plan string) error {
	delete(g.keys, companyID+"/"+plan)
	if g.withdrawn != nil {
		g.withdrawn()
	}
	return nil
}

func (g *gateway) want(t *testing.T, when string, keys ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, k := range keys {
		want[k] = true
	}
	if diff := cmp.Diff(want, g.keys); diff != "" {
		t.Errorf("keys %s (-want +got):\n%s", when, diff)
	}
}

// TestTicker_UsageKey ends the key of a former plan when no token names it any more.
func TestTicker_UsageKey(t *testing.T) {
	t.Parallel()
	r := setup(t)
	g := &gateway{keys: map[string]bool{"a/pro": true, "a/enterprise": true}}
	r.ticker.Plans = g
	c := r.Company("a")
	r.Put("a", company.Key, company.Entity, company.Company{ID: "a", Name: "Acme", Plan: "pro"})
	move := func(plan string) {
		t.Helper()
		_, err := company.SetPlan(t.Context(), c, plan, r.Clock.Now())
		errtest.Must(t, err)
	}
	move("enterprise")
	r.Clock.Advance(time.Hour)
	r.tick()
	g.want(t, "while tokens name the former plan", "a/pro", "a/enterprise")
	r.Clock.Advance(time.Hour)
	r.tick()
	g.want(t, "two hours later", "a/enterprise")

	move("free")
	move("enterprise")
	r.Clock.Advance(2 * time.Hour)
	r.tick()
	g.want(t, "of a company that came back to the plan", "a/enterprise")

	move("free")
	g.withdrawn = func() { g.withdrawn = nil; move("enterprise") }
	r.Clock.Advance(2 * time.Hour)
	r.tick()
	g.want(t, "of a company that comes back at the moment", "a/enterprise")
}

// TestTicker_UsageKey_Erased ends all keys of a company that is erased.
func TestTicker_UsageKey_Erased(t *testing.T) {
	t.Parallel()
	r := setup(t)
	g := &gateway{keys: map[string]bool{"a/pro": true, "b/pro": true}}
	r.ticker.Plans, r.ticker.Keys = g, vault.StoreKeys{Store: r.Store}
	c := r.Company("a")
	r.Put("a", company.Key, company.Entity, company.Company{ID: "a", Name: "Acme", Plan: "pro"})
	ops, err := erasure.Begin(t.Context(), c, r.Clock.Now())
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), ops...))
	r.Clock.Advance(time.Minute)
	r.tick()
	r.Clock.Advance(time.Hour)
	r.tick()
	g.want(t, "after the erasure", "b/pro")
}
