package ticker_test

import (
	"testing"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
)

// TestTicker_Erase erases a company a minute after its erasure was approved, and removes an hour later what a worker has written
// meanwhile.
func TestTicker_Erase(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.ticker.Keys = vault.StoreKeys{Store: r.Store}
	c := r.Company("a")
	r.Put("a", company.Key, company.Entity, company.Company{ID: "a", Name: "Acme"})
	ops, err := erasure.Begin(t.Context(), c, r.Clock.Now())
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), ops...))
	r.tick()
	if !r.Get("a", company.Key, nil) {
		t.Error("the company is gone at once, want it to stay a minute for what is in flight")
	}
	r.Clock.Advance(time.Minute)
	r.tick()
	if r.Get("a", company.Key, nil) {
		t.Error("the company is there after a minute, want it erased")
	}
	receipt, _, err := erasure.Find(t.Context(), r.Store, "a")
	errtest.Must(t, err)
	if receipt.ErasedAt == nil {
		t.Errorf("receipt %+v, want the time of the end", receipt)
	}
	r.Put("a", "CONTEXT", "context", map[string]string{})
	r.Clock.Advance(time.Hour)
	r.tick()
	if r.Get("a", "CONTEXT", nil) {
		t.Error("what was written later is there after an hour, want it removed")
	}
}
