package recovery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var now = time.Date(2026, 2, 23, 12, 0, 0, 0, time.UTC)

func image(t *testing.T, r recovery.Stored) *store.Image {
	t.Helper()
	b, err := json.Marshal(r)
	errtest.Must(t, err)
	return &store.Image{Version: 1, Body: b}
}

// TestDue checks which changes of a recovery require a message and a timer: its request, and each turn that it asks for.
func TestDue(t *testing.T) {
	t.Parallel()
	requested := recovery.Stored{Recovery: recovery.Recovery{ID: "r"}}
	asks := requested
	asks.Ask(now.Add(time.Minute))
	tests := []struct {
		name     string
		old, new *store.Image
		entity   string
		want     delivery.Job // zero: none
		due      time.Time
	}{
		{"requested", nil, image(t, requested), recovery.Entity, delivery.Job{Company: "a", Recovery: "r"}, time.Time{}},
		{"progresses", image(t, requested), image(t, requested), recovery.Entity, delivery.Job{}, time.Time{}},
		{"asks", image(t, requested), image(t, asks), recovery.Entity, delivery.Job{Company: "a", Recovery: "r", Turn: 1}, asks.Due},
		{"expires", image(t, asks), nil, recovery.Entity, delivery.Job{}, time.Time{}},
		{"of another entity", nil, image(t, asks), "goal", delivery.Job{}, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := store.Change{Company: "a", Entity: tt.entity, Key: recovery.Key("r"), At: now, Old: tt.old, New: tt.new}
			m, ok, err := recovery.Due(c)
			errtest.Must(t, err)
			at, subject, looks := recovery.Lookout(c)
			if ok != looks {
				t.Errorf("a message is required: %t, its timer: %t; want both or neither", ok, looks)
			}
			var got delivery.Job
			if ok {
				errtest.Must(t, json.Unmarshal(m.Body, &got))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("job differs (-want +got):\n%s", diff)
			}
			if !ok {
				return
			}
			if !m.Due.Equal(tt.due) {
				t.Errorf("due at %v, want %v", m.Due, tt.due)
			}
			if m.Group != "a" {
				t.Errorf("group %q, want the company", m.Group)
			}
			if subject != "r" {
				t.Errorf("the timer looks for %q, want r", subject)
			}
			if earliest := now.Add(delivery.OverdueAfter); !at.After(earliest) {
				t.Errorf("the timer fires at %v, before the message is overdue at %v", at, earliest)
			}
		})
	}
}

func TestDue_Unreadable(t *testing.T) {
	t.Parallel()
	if _, ok, err := recovery.Due(store.Change{Entity: recovery.Entity, New: &store.Image{Body: []byte(`{"turn":"x"}`)}}); err == nil {
		t.Errorf("Due of an unreadable recovery: ok %t and no error, want one", ok)
	}
}
