package syncrun_test

import (
	"encoding/json"
	"testing"
	"time"

	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC)
	image := func(turns int) *store.Image {
		run := syncrun.StoredRun{Run: syncrun.Run{ID: "r", Error: `"turn":7`}}
		for range turns {
			run.Work.Ask(now)
		}
		body, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		return &store.Image{Body: body}
	}
	tests := []struct {
		name   string
		change store.Change
		want   string
		due    time.Time
	}{
		{"requested", store.Change{Entity: syncrun.Entity, New: image(0)}, `{"company":"a","run":"r"}`, time.Time{}},
		{"progresses", store.Change{Entity: syncrun.Entity, Old: image(1), New: image(1)}, "", time.Time{}},
		{"asks", store.Change{Entity: syncrun.Entity, Old: image(0), New: image(1)}, `{"company":"a","run":"r","turn":1}`, now.Add(time.Millisecond - 1)},
		{"asks again", store.Change{Entity: syncrun.Entity, Old: image(1), New: image(2)}, `{"company":"a","run":"r","turn":2}`, now.Add(time.Millisecond - 1)},
		{"ends", store.Change{Entity: syncrun.Entity, Old: image(2), New: image(0)}, "", time.Time{}},
		{"expired", store.Change{Entity: syncrun.Entity, Old: image(1)}, "", time.Time{}},
		{"its slot", store.Change{Entity: syncrun.SlotEntity, New: image(1)}, "", time.Time{}},
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
			if !m.Due.Equal(tt.due) {
				t.Errorf("due at %v, want %v", m.Due, tt.due)
			}
		})
	}
}
