package webtest

import (
	"testing"

	"orgops/shared/store"
)

func openStore(testing.TB) store.Store { return &memStore{items: map[string]store.Item{}} }
