package syncrun_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fastjson"
	"orgops/shared/domain/syncrun"
	"orgops/shared/testkit/errtest"
)

// TestMissed_Without stores and reads a list, and drops what has been seen. An empty list is the zero value, so that a slot without
// one stays as small as before.
func TestMissed_Without(t *testing.T) {
	t.Parallel()
	list := syncrun.Missed{IDs: syncrun.Digests(nil).Add("a", "b", "c"), Source: "s", Began: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)}
	body, err := json.Marshal(syncrun.Slot{Missed: list})
	errtest.Must(t, err)
	var slot syncrun.Slot
	errtest.Must(t, fastjson.Unmarshal(body, &slot))
	if diff := cmp.Diff(list, slot.Missed); diff != "" {
		t.Errorf("list read from %s differs (-want +got):\n%s", body, diff)
	}
	left := slot.Missed.Without(syncrun.Digests(nil).Add("b", "d"))
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if got := left.IDs.Has(id); got != want {
			t.Errorf("the list has %s: %t, want %t", id, got, want)
		}
		if got := left.IDs.Set().Has(id); got != want {
			t.Errorf("the set has %s: %t, want %t", id, got, want)
		}
	}
	if got := left.IDs.Len(); got != 2 {
		t.Errorf("%d items, want 2", got)
	}
	if diff := cmp.Diff(syncrun.Missed{}, left.Without(list.IDs)); diff != "" {
		t.Errorf("list without its items differs (-want +got):\n%s", diff)
	}
	body, err = json.Marshal(syncrun.Slot{})
	errtest.Must(t, err)
	if got, want := string(body), `{"run":""}`; got != want {
		t.Errorf("empty slot is stored as %s, want %s", got, want)
	}
}
