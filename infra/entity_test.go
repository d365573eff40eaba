package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/event"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// passed returns the entities that a function's filters pass.
func (s *synthesized) passed(t *testing.T, function string) []string {
	t.Helper()
	for _, id := range s.of("AWS::Lambda::EventSourceMapping") {
		filters, _ := dig(s.Resources[id].Properties, "FilterCriteria", "Filters").([]any)
		if !strings.HasPrefix(id, "Events"+function) || len(filters) == 0 {
			continue
		}
		var pattern struct {
			Dynamodb struct {
				NewImage struct{ Entity struct{ S []string } }
			}
		}
		if err := json.Unmarshal([]byte(text(dig(filters[0], "Pattern"))), &pattern); err != nil {
			t.Fatal(err)
		}
		return pattern.Dynamodb.NewImage.Entity.S
	}
	t.Fatalf("%s does not read the stream", function)
	return nil
}

// entities returns all entities that the source names.
func entities(t *testing.T) []string {
	t.Helper()
	named := regexp.MustCompile(`(?m)[Ee]ntity\s*=\s*"([a-z-]+)"`)
	var all []string
	err := filepath.WalkDir("../shared", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, match := range named.FindAllSubmatch(source, -1) {
			all = append(all, string(match[1]))
		}
		return err
	})
	slices.Sort(all)
	all = slices.Compact(all)
	errtest.Must(t, err)
	if len(all) < 15 {
		t.Fatalf("entities %q, want at least 15", all)
	}
	return all
}

// TestFilters checks that a function ignores every change that its filter drops.
func TestFilters(t *testing.T) {
	t.Parallel()
	projected, dispatched := stacks["pool"].passed(t, "projector"), stacks["pool"].passed(t, "dispatcher")
	for _, entity := range entities(t) {
		change := store.Change{
			Sequence: "1", Company: "acme", Key: strings.ToUpper(entity) + "#1", Entity: entity, At: time.Unix(1_771_840_800, 0).UTC(),
			New: &store.Image{Version: 1, Body: json.RawMessage(`{}`)},
		}
		if !slices.Contains(projected, entity) {
			next, _, failed := projection.Fold(projection.Empty("acme"), []store.Change{change})
			errtest.Must(t, failed.Err())
			if next.Differs(projection.Empty("acme")) {
				t.Errorf("a change of %s is filtered out but folded, want it ignored", entity)
			}
		}
		if !slices.Contains(dispatched, entity) {
			events, err := event.Of(change)
			errtest.Must(t, err)
			if len(events) > 0 {
				t.Errorf("a change of %s is filtered out but gives events %+v, want none", entity, events)
			}
		}
	}
}
