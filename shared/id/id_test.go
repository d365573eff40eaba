package id_test

import (
	"strings"
	"testing"

	"orgops/shared/id"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "Z", "0-_9", strings.Repeat("x", 64), id.New()} {
		if !id.Valid(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 65), "a b", "a#b", "a/b", "é", "a\n", "a\x00", ".", "@", "[", "`", "{", ":"} {
		if id.Valid(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
}
