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
