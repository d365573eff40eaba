package projection_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// TestFold_Image_Malformed folds images that do not fit their entity. Each must give an error and leave the counts alone.
func TestFold_Image_Malformed(t *testing.T) {
	t.Parallel()
	bodies := []string{``, `null`, `7`, `"text"`, `[]`, `{`, `{"id":"1"`, `{"id":"1",}`, `{"id":"1"} {}`, `{"id":"1","x":tru}`}
	tests := []struct {
		entity, key string
		bodies      []string
	}{
		{memory.Entity, "MEMORY#1", []string{`{"provider":7}`, `{"provider":{}}`, `{"provider":"feed"`, `{"provider":"feed","body":"x}`}},
		{delivery.Entity, "DELIVERY#1#webhook", []string{
			`{"state":1}`, `{"state":"dead","made":"1"}`, `{"state":"dead","made":1.5}`, `{"state":"dead","made":1,"generation":true}`,
		}},
		{goal.Entity, "GOAL#1", []string{`{"title":1}`, `{"dueAt":"soon"}`, `{"alignment":{"reasons":"x"}}`}},
		{syncrun.Entity, "SYNC#1", []string{`{"state":1}`, `{"progress":[]}`}},
	}
	for _, tt := range tests {
		for _, body := range slices.Concat(bodies, tt.bodies) {
			p, entries, failed := projection.Fold(projection.Empty("acme"), []store.Change{{
				Sequence: "1", Company: "acme", Entity: tt.entity, Key: tt.key, At: noon(), New: &store.Image{Version: 1, Body: json.RawMessage(body)},
			}})
			if len(failed) == 0 {
				t.Errorf("%s %q: no error", tt.entity, body)
			}
			want := projection.Empty("acme")
			want.Applied = "1"
			if diff := cmp.Diff(want, p); diff != "" {
				t.Errorf("%s %q: context (-want +got):\n%s", tt.entity, body, diff)
			}
			if len(entries) != 0 {
				t.Errorf("%s %q: entries = %v, want none", tt.entity, body, titles(entries))
			}
		}
	}
}
