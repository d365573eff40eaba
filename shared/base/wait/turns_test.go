package wait_test

import (
	"slices"
	"testing"

	"orgops/shared/base/wait"
)

// TestTurns checks that the work of a key is done in its order, and that work which takes long delays no other key.
func TestTurns(t *testing.T) {
	t.Parallel()
	var turns wait.Turns[string]
	free, done := make(chan struct{}), make(chan int, 3)
	turns.Do("a", func() { <-free; done <- 1 })
	turns.Do("a", func() { done <- 2 })
	turns.Do("b", func() { done <- 3 })
	if first := <-done; first != 3 {
		t.Errorf("the work %d is done first, want that of the other key, 3", first)
	}
	if !turns.IsBusy("a") {
		t.Error("key a is not busy, want it busy until its work is done")
	}
	close(free)
	if rest := []int{<-done, <-done}; !slices.Equal(rest, []int{1, 2}) {
		t.Errorf("the key's work is done as %v, want it in its order", rest)
	}
}
