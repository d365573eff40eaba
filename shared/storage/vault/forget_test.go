package vault

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestSealer_Forgets checks that keys leave memory after their time even if no caller opens anything.
func TestSealer_Forgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(nil, nil, time.Now)
		after := func(d time.Duration, want ...string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if kept := slices.Sorted(maps.Keys(s.opened)); !slices.Equal(kept, want) {
				t.Errorf("keys of %q in memory, want %q", kept, want)
			}
		}
		s.remember("a", nil)
		after(keyTime/2, "a")
		s.remember("b", nil)
		after(keyTime/2, "b")
		after(keyTime / 2)
	})
}
