package syncrun_test

import (
	"encoding/json"
	"testing"
	"time"

	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
)

// TestLookout checks when a timer looks for a run: once for all of its messages that are due in an hour, when the last of them would
// be overdue.
func TestLookout(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 20, 0, 0, time.UTC)
	image := func(watched bool, due ...time.Time) *store.Image {
		run := syncrun.StoredRun{Watched: watched}
		for _, d := range due {
			run.Work.Ask(d)
		}
		body, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		return &store.Image{Body: body}
	}
	hour := time.Date(2026, 3, 1, 13, 15, 1, 0, time.UTC)
	tests := []struct {
		name     string
		old, new *store.Image
		want     time.Time
	}{
		{"requested by a user", nil, image(false), hour},
		{"requested by a schedule that comes again soon", nil, image(true), time.Time{}},
		{"asks", image(true), image(true, at.Add(39*time.Minute)), hour},
		{"asks for later", image(false, at), image(false, at, at.Add(24*time.Hour)), hour.Add(24 * time.Hour)},
		{"progresses", image(false, at), image(false, at), time.Time{}},
		{"expired", image(false), nil, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, subject, ok := syncrun.Lookout(store.Change{Entity: syncrun.Entity, Key: syncrun.Key("r"), At: at, Old: tt.old, New: tt.new})
			if ok == tt.want.IsZero() {
				t.Fatalf("Lookout reports ok = %t, want %t", ok, !tt.want.IsZero())
			}
			if !got.Equal(tt.want) {
				t.Errorf("the timer is at %v, want %v", got, tt.want)
			}
			if want := map[bool]string{true: "r"}[ok]; subject != want {
				t.Errorf("the subject is %q, want %q", subject, want)
			}
		})
	}
}
