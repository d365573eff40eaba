package blackbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var goldenRecord = filepath.Join("testdata", "journey.golden.json")

// journeys are walked at once, each with a company of its own.
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
	{"rotate", rotate},
	{"hold", hold},
	{"feed", feed},
	{"github", github},
	{"insight", insight},
}

// Every target answers every journey as the golden record says.
func TestJourneys(t *testing.T) {
	names, err := chosenTargets()
	must(t, err)
	golden := map[string][]step{}
	if !*update {
		golden = readGolden(t)
	}
	for _, tg := range targets {
		if !slices.Contains(names, tg.name) {
			continue
		}
		t.Run(tg.name, func(t *testing.T) {
			w := newWorld(t)
			running := tg.start(t)
			recorded := walkAll(t, tg.name, running, w, golden)
			if t.Failed() {
				t.Logf("the end of the log of %s:\n%s", tg.name, tail(running.log()))
			} else if *update {
				must(t, os.WriteFile(goldenRecord, []byte(show(recorded)), 0o644))
			}
		})
	}
}

func readGolden(t *testing.T) map[string][]step {
	t.Helper()
	content, err := os.ReadFile(goldenRecord)
	must(t, err)
	golden := map[string][]step{}
	must(t, json.Unmarshal(content, &golden))
	return golden
}

func walkAll(t *testing.T, name string, tg *target, w *world, golden map[string][]step) map[string][]step {
	var mu sync.Mutex
	recorded := map[string][]step{}
	t.Run("journeys", func(t *testing.T) {
		for _, way := range journeys {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				j := newJourney(t, way.name, tg, w, expected(name, golden[way.name]))
				way.walk(j)
				j.end()
				mu.Lock()
				defer mu.Unlock()
				recorded[way.name] = j.steps
			})
		}
	})
	return recorded
}
