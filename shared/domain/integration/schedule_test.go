package integration_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// TestIntegration_Reschedule gives a changed schedule a timer of its own, although the next sync of both may be due at the same
// time, and although the clock has not moved or has stepped back.
func TestIntegration_Reschedule(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for n := range 20 {
		c := store.For(nil, fmt.Sprint("company-", n))
		i := integration.Integration{Provider: "http", Config: json.RawMessage(`{"schedule":"1h"}`)}
		known := map[string]bool{}
		for step, every := range []string{"1h", "2h", "1h", "4h"} {
			i.Config = json.RawMessage(`{"schedule":"` + every + `"}`)
			ops := i.Reschedule(c, now.Add(-time.Duration(step)*time.Microsecond))
			if len(ops) != 1 {
				t.Fatalf("%d ops for a schedule of %s, want 1", len(ops), every)
			}
			if known[ops[0].Key] {
				t.Errorf("company %d: the timer %s of a schedule of %s was set before", n, ops[0].Key, every)
			}
			known[ops[0].Key] = true
		}
	}
}
