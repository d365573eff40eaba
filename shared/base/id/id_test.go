package id_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/shared/base/id"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "Z", "0-_9", strings.Repeat("x", 64), id.New()} {
		if !id.Valid(good) {
			t.Errorf("%q refused", good)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 65), "a b", "a#b", "a/b", "é", "a\n", "a\x00", ".", "@", "[", "`", "{", ":"} {
		if id.Valid(bad) {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestRanked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var ids []string
	for rank := range byte(16) {
		one := id.Ranked(at, rank, "company", "a")
		if again := id.Ranked(at, rank, "company", "a"); again != one {
			t.Errorf("%s and %s for the same input", one, again)
		}
		if when, ok := id.Time(one); !ok || !when.Equal(at) || one < id.First(at) || one > id.Last(at) {
			t.Errorf("%s has the time %s", one, when)
		}
		ids = append(ids, one)
	}
	if !slices.IsSorted(ids) || id.Ranked(at, 15, "b") > id.Ranked(at.Add(time.Millisecond), 0, "b") {
		t.Errorf("not in order: %v", ids)
	}
}
