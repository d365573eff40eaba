package blackbox_test

import (
	"orgops/shared/testkit/errtest"
	"slices"
	"testing"
)

// journeys run in parallel, each with a company of its own. The name of a journey is that of its golden file.
var journeys = []struct {
	name string
	walk func(*journey)
}{
	{"session", session},
	{"guard", guard},
	{"protocol", protocol},
	{"origin", origin},
	{"webhook", webhook},
	{"inbound", inbound},
	{"retry", retry},
	{"resume", resume},
	{"ordered", ordered},
	{"rotate", rotate},
	{"hold", hold},
	{"listen", listen},
	{"feed", feed},
	{"github", github},
	{"source", source},
	{"described", described},
	{"removal", removal},
	{"relay", relay},
	{"insight", insight},
	{"review", review},
	{"replacement", replacement},
	{"users", users},
	{"factors", factors},
	{"passkeys", passkeys},
	{"clients", clients},
	{"executives", executives},
	{"mcp", mcp},
	{"sso", sso},
}

// TestJourneys compares the answers of every target with the golden files. With -update it writes the golden file of each
// journey that runs to its end.
func TestJourneys(t *testing.T) {
	names, err := chosenTargets()
	errtest.Must(t, err)
	for _, tg := range targets {
		if !slices.Contains(names, tg.name) {
			continue
		}
		t.Run(tg.name, func(t *testing.T) {
			w := newWorld(t)
			running := tg.start(t)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the end of the log of %s:\n%s", tg.name, tail(running.log()))
				}
			})
			for _, c := range running.checks {
				t.Run(c.name, func(t *testing.T) { c.run(t, w) })
			}
			for _, tt := range journeys {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					var golden []step
					if !*update {
						golden = readGolden(t, tt.name)
						applyDifferences(tg.name, golden)
					}
					j := newJourney(t, tt.name, running, w, golden)
					tt.walk(j)
					j.end()
					if *update && !t.Failed() {
						writeGolden(t, tt.name, j.steps)
					}
				})
			}
		})
	}
}
