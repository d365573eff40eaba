package store_test

import (
	"testing"

	"orgops/shared/storage/store"
)

func TestPatiently(t *testing.T) {
	t.Parallel()
	if store.Patient(t.Context()) {
		t.Error("a commit of a request may wait, want it to go first")
	}
	if !store.Patient(store.Patiently(t.Context())) {
		t.Error("a patient commit may not wait, want that it may")
	}
}

// TestYielding tells commits that only let others go first from those that wait for others to share a sync with.
func TestYielding(t *testing.T) {
	t.Parallel()
	if store.Yields(store.Patiently(t.Context())) {
		t.Error("a patient commit does not wait for others, want that it may")
	}
	yielding := store.Yielding(t.Context())
	if !store.Yields(yielding) {
		t.Error("a yielding commit waits for others, want that it does not")
	}
	if !store.Patient(yielding) {
		t.Error("a yielding commit is not patient, want that it is")
	}
}
