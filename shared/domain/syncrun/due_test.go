package syncrun_test

import (
	"encoding/json"
	"testing"

	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

func TestDue(t *testing.T) {
	t.Parallel()
	image := func(cancel bool) *store.Image {
		run := syncrun.StoredRun{Run: syncrun.Run{ID: "r", Error: `"cancelRequested":true`}, Work: syncrun.Work{CancelRequested: cancel}}
		body, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		return &store.Image{Body: body}
	}
	confirmed := image(false)
	body, err := json.Marshal(syncrun.StoredRun{Run: syncrun.Run{ID: "r", Removal: &syncrun.Removal{ConfirmedBy: "u"}}})
	if err != nil {
		t.Fatal(err)
	}
	confirmed.Body = body
	tests := []struct {
		name   string
		change store.Change
		want   string
	}{
		{"removal confirmed", store.Change{Entity: syncrun.Entity, Old: image(false), New: confirmed}, `{"company":"a","run":"r"}`},
		{"removal confirmed before", store.Change{Entity: syncrun.Entity, Old: confirmed, New: confirmed}, ""},
		{"requested", store.Change{Entity: syncrun.Entity, New: image(false)}, `{"company":"a","run":"r"}`},
		{"progresses", store.Change{Entity: syncrun.Entity, Old: image(false), New: image(false)}, ""},
		{"cancellation requested", store.Change{Entity: syncrun.Entity, Old: image(false), New: image(true)}, `{"company":"a","run":"r"}`},
		{"cancellation requested before", store.Change{Entity: syncrun.Entity, Old: image(true), New: image(true)}, ""},
		{"expired", store.Change{Entity: syncrun.Entity, Old: image(true)}, ""},
		{"its slot", store.Change{Entity: syncrun.SlotEntity, New: image(true)}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.change
			c.Company, c.Key = "a", syncrun.Key("r")
			m, ok, err := syncrun.Due(c)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (tt.want != "") {
				t.Fatalf("Due reports ok = %t, want %t", ok, tt.want != "")
			}
			if string(m.Body) != tt.want {
				t.Errorf("message %s, want %s", m.Body, tt.want)
			}
		})
	}
}
