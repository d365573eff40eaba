package syncrun_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/syncrun"
	"orgops/shared/testkit/errtest"
)

func TestState_Ended(t *testing.T) {
	t.Parallel()
	for state, want := range map[syncrun.State]bool{
		syncrun.Requested: false, syncrun.Running: false, syncrun.Succeeded: true, syncrun.Failed: true, syncrun.Cancelled: true, "": false,
	} {
		if got := state.Ended(); got != want {
			t.Errorf("Ended of %q = %t, want %t", state, got, want)
		}
	}
}

// TestStoredRun checks that the stored work neither hides the run's fields nor shows in the API.
func TestStoredRun(t *testing.T) {
	t.Parallel()
	run := syncrun.Run{ID: "r", State: syncrun.Running}
	stored, err := json.Marshal(syncrun.StoredRun{Run: run, Work: syncrun.Work{Tries: 2}})
	errtest.Must(t, err)
	var shown syncrun.Run
	errtest.Must(t, json.Unmarshal(stored, &shown))
	if diff := cmp.Diff(run, shown); diff != "" {
		t.Errorf("run read from %s differs (-want +got):\n%s", stored, diff)
	}
	again, err := json.Marshal(shown)
	errtest.Must(t, err)
	if strings.Contains(string(again), "work") {
		t.Errorf("the API shows %s, want it without the work", again)
	}
}
