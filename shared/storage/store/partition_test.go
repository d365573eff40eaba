package store_test

import (
	"testing"

	"orgops/shared/storage/store"
)

// TestLogin has addresses share a login if only the case of ASCII letters tells them apart. What Unicode folds into them is another
// mailbox, and its owner another person.
func TestLogin(t *testing.T) {
	t.Parallel()
	of := store.Login("mike@corp.example")
	for _, same := range []string{"Mike@Corp.example", " MIKE@CORP.EXAMPLE "} {
		if store.Login(same) != of {
			t.Errorf("%q has a login of its own, want that of mike@corp.example", same)
		}
	}
	for _, other := range []string{"m\u0130ke@corp.example", "mi\u212Ae@corp.example", "mi\u0307ke@corp.example", "\uFF4Dike@corp.example"} {
		if store.Login(other) == of {
			t.Errorf("%q shares the login of mike@corp.example", other)
		}
	}
}
