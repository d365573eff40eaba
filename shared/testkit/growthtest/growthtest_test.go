package growthtest_test

import (
	"testing"

	"orgops/shared/testkit/growthtest"
)

// failed records that a test failed.
type failed struct {
	testing.TB
	is bool
}

func (f *failed) Errorf(string, ...any) { f.is = true }

// TestLinear passes linear work, and fails quadratic work.
func TestLinear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	var kept [][]byte
	growthtest.Linear(t, "linear", 1000, func(n int) {
		for range n {
			kept = append(kept[:0], make([]byte, 100))
		}
	})
	f := &failed{TB: t}
	growthtest.Linear(f, "quadratic", 1000, func(n int) {
		for range n {
			kept = append(kept[:0], make([]byte, n))
		}
	})
	if !f.is {
		t.Error("quadratic work passes, want it to fail")
	}
}
