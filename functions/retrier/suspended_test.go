package retrier_test

import (
	"testing"

	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/suspension"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// TestRetrier_Suspended holds what is due while the company is suspended. When it is resumed, its recovery sends that, and
// nothing that is held for another reason.
func TestRetrier_Suspended(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c := r.Company("a")
	r.Put("a", company.Key, company.Entity, company.Company{ID: "a"})
	_, err := suspension.Suspend(t.Context(), c, "unpaid", r.Clock.Now())
	errtest.Must(t, err)
	held := r.deliver(1)
	r.wantDone("the message", r.handle(held), 0)
	r.wantRecord(held, delivery.Delivery{Head: delivery.Head{State: delivery.Held, HeldBecause: delivery.HeldSuspended, Made: 1, Generation: 1}})
	other := r.deliver(2, func(d *delivery.Delivery) { d.Hold("sandbox") })

	_, err = suspension.Resume(t.Context(), c, r.Clock.Now())
	errtest.Must(t, err)
	r.Deps.Courier.Forget("a") // as the dispatcher does when it sees the change
	asked := worktest.All[recovery.Stored](r.Harness, "a", recovery.Prefix)
	if len(asked) != 1 {
		t.Fatalf("%d recoveries, want 1", len(asked))
	}
	r.wantDone("the recovery", r.handle(delivery.Job{Company: "a", Recovery: asked[0].ID}), 1)
	if got := r.record(held).State; got != delivery.Delivered {
		t.Errorf("state = %s, want %s", got, delivery.Delivered)
	}
	r.wantRecord(other, delivery.Delivery{Head: delivery.Head{State: delivery.Held, HeldBecause: "sandbox", Made: 1, Generation: 1}})
}

// TestCheck marks an integration that a request in flight has stored without the mark, and takes the mark away that a crash
// has left.
func TestCheck(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, now := r.Company("a"), r.Clock.Now()
	suspended := func() bool {
		i, _, err := integration.Load(t.Context(), c, "webhook")
		errtest.Must(t, err)
		return i.Suspended
	}
	r.Put("a", company.Key, company.Entity, company.Company{ID: "a"})
	_, err := suspension.Suspend(t.Context(), c, "", now)
	errtest.Must(t, err)
	r.Change("a", "webhook", func(i *integration.Integration) { i.Suspended = false })
	ops, err := suspension.Check(t.Context(), c, now)
	errtest.Must(t, err)
	if len(ops) != 0 {
		t.Errorf("%d writes of a suspended company, want none", len(ops))
	}
	if !suspended() {
		t.Error("the integration has no mark, want it marked")
	}
	_, err = suspension.Resume(t.Context(), c, now)
	errtest.Must(t, err)
	r.Change("a", "webhook", func(i *integration.Integration) { i.Suspended = true })
	ops, err = suspension.Check(t.Context(), c, now)
	errtest.Must(t, err)
	if len(ops) != 1 {
		t.Errorf("%d writes of a resumed company, want 1: the recovery of what an attempt in flight has held", len(ops))
	}
	if suspended() {
		t.Error("the integration is marked, want no mark")
	}
}
