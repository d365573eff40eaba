package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"orgops/local/process/edge"
	"orgops/shared/web"
)

// fill opens bodies of size bytes for a holder until one is refused, and returns those that have arrived.
func fill(t *testing.T, b *edge.Budget, company, source string, size int) (arrived []web.Share) {
	t.Helper()
	for len(arrived) < 1000 {
		s := b.Open(company, source)
		if !s.Grow(size) {
			s.Close()
			return arrived
		}
		arrived = append(arrived, s)
	}
	t.Fatal("every body arrives, want a bound")
	return nil
}

// TestBudget_Fair leaves room for another company and another address, however much one of them holds.
func TestBudget_Fair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := edge.NewBudget(2000)
		many := fill(t, b, "acme", "192.0.2.1", 10)
		if n := len(many); n != 51 { // half of its half, and the body that waited first
			t.Errorf("one company has %d bodies in flight, want 51", n)
		}
		if n := len(fill(t, b, "beta", "192.0.2.1", 10)); n != 24 {
			t.Errorf("a second one has %d, want 24: half of what is free", n)
		}
		if n := len(fill(t, b, "", "192.0.2.1", 10)); n != 51 {
			t.Errorf("an address without a token has %d, want 51", n)
		}
		if n := len(fill(t, b, "", "192.0.2.2", 10)); n != 24 {
			t.Errorf("a second address has %d, want 24", n)
		}
		for _, s := range many {
			s.Close()
		}
		if n := len(fill(t, b, "carol", "", 10)); n < 30 {
			t.Errorf("after the first has been answered, another has %d, want at least 30", n)
		}
	})
}

// TestBudget_Large lets two bodies in that together need more than the threshold, one after the other.
func TestBudget_Large(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := edge.NewBudget(2000)
		grow := func(s web.Share, n int) bool {
			for range n {
				if !s.Grow(1) {
					return false
				}
			}
			return true
		}
		one, other := b.Open("", "192.0.2.1"), b.Open("", "192.0.2.2")
		for _, s := range []web.Share{one, other} {
			if !grow(s, 300) {
				t.Fatal("a body below the threshold is refused")
			}
		}
		done := make(chan bool)
		go func() {
			ok := grow(one, 400)
			one.Close()
			done <- ok
		}()
		go func() {
			ok := grow(other, 400)
			other.Close()
			done <- ok
		}()
		for range 2 {
			if !<-done {
				t.Error("a large body is refused, want both to arrive")
			}
		}
	})
}

// TestBudget_Waits refuses a body after the time for which it waits, and not before.
func TestBudget_Waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := edge.NewBudget(2000)
		all := b.Open("acme", "")
		if !all.Grow(1000) {
			t.Fatal("the first body is refused, want all that is free")
		}
		late, begun := b.Open("beta", ""), time.Now()
		if late.Grow(1) {
			t.Error("a body arrives beyond the budget")
		}
		if waited := time.Since(begun); waited != 2*time.Second {
			t.Errorf("it waited %s, want 2s", waited)
		}
		go func() {
			<-time.After(time.Second)
			all.Close()
		}()
		if !late.Grow(1) {
			t.Error("a body is refused although another has been answered")
		}
	})
}
