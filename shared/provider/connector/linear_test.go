package connector_test

import (
	"strings"
	"testing"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/growthtest"
)

// TestMoment_Linear reads a text for a time that is four times as long with about four times the work.
func TestMoment_Linear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	for name, text := range map[string]func(n int) string{
		"digits":  func(n int) string { return strings.Repeat("1", n) },
		"words":   func(n int) string { return strings.Repeat("Mon, ", n) },
		"clocks":  func(n int) string { return strings.Repeat("10:00:00 ", n) },
		"spaces":  func(n int) string { return strings.Repeat(" ", n) + "2026-05-01" },
		"comment": func(n int) string { return "Fri, 1 May 2026 10:00:00 +0000 " + strings.Repeat("(", n) },
	} {
		growthtest.Linear(t, name, 1000, func(n int) {
			for range 10 {
				_ = connector.Moment(text(n))
			}
		})
		growthtest.Linear(t, name+" within the limit", 5, func(n int) {
			for range 1000 {
				_ = connector.Moment(text(n))
			}
		})
	}
}
