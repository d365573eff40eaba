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

// TestYielding has only commits that ask for it wait for seconds. The records of many attempts in one commit do not.
func TestYielding(t *testing.T) {
	t.Parallel()
	if store.Yields(store.Patiently(t.Context())) {
		t.Error("a patient commit may wait for seconds, want milliseconds")
	}
	yielding := store.Yielding(t.Context())
	if !store.Yields(yielding) {
		t.Error("a yielding commit may not wait for seconds, want that it may")
	}
	if !store.Patient(yielding) {
		t.Error("a yielding commit is not patient, want that it is")
	}
}
