package syncrun_test

import (
	"encoding/json"
	"strings"
	"testing"

	"orgops/shared/domain/syncrun"
)

func TestState_Ended(t *testing.T) {
	t.Parallel()
	for state, want := range map[syncrun.State]bool{
		syncrun.Requested: false, syncrun.Running: false, syncrun.Succeeded: true, syncrun.Failed: true, syncrun.Cancelled: true, "": false,
	} {
		if state.Ended() != want {
			t.Errorf("Ended of %q = %v", state, !want)
		}
	}
}

// TestRecord checks that the stored work neither hides the run's fields nor shows in the API.
func TestRecord(t *testing.T) {
	t.Parallel()
	stored, err := json.Marshal(syncrun.StoredRun{Run: syncrun.Run{ID: "r", State: syncrun.Running}, Work: syncrun.Work{Tries: 2}})
	if err != nil {
		t.Fatal(err)
	}
	var shown syncrun.Run
	if err := json.Unmarshal(stored, &shown); err != nil || shown.ID != "r" || shown.State != syncrun.Running {
		t.Errorf("%s: %+v, %v", stored, shown, err)
	}
	again, err := json.Marshal(shown)
	if err != nil || strings.Contains(string(again), "work") {
		t.Errorf("%s, %v", again, err)
	}
}
