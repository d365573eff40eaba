package id_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"orgops/shared/base/id"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "Z", "0-_9", strings.Repeat("x", 64), id.New()} {
		if !id.Valid(good) {
			t.Errorf("%q refused, want it accepted", good)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 65), "a b", "a#b", "a/b", "é", "a\n", "a\x00", ".", "@", "[", "`", "{", ":"} {
		if id.Valid(bad) {
			t.Errorf("%q accepted, want it refused", bad)
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
			t.Errorf("%s and %s for the same input, want the same id", one, again)
		}
		when, ok := id.Time(one)
		if !ok {
			t.Errorf("%s has no time, want %s", one, at)
		}
		if !when.Equal(at) {
			t.Errorf("%s has the time %s, want %s", one, when, at)
		}
		if first, last := id.First(at), id.Last(at); one < first || one > last {
			t.Errorf("%s, want it from %s to %s", one, first, last)
		}
		ids = append(ids, one)
	}
	ids = append(ids, id.Ranked(at.Add(time.Millisecond), 0, "company", "a"))
	if !slices.IsSorted(ids) {
		t.Errorf("ids %q, want them in the order of time and rank", ids)
	}
}

// TestPrecise sorts the ids of one millisecond by their time.
func TestPrecise(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 999_000_000, time.UTC)
	var ids []string
	for n := range 2000 {
		one := id.Precise(at.Add(time.Duration(n)*500*time.Nanosecond), "company", strconv.Itoa(n))
		if when, ok := id.Time(one); !ok {
			t.Errorf("%s has no time, want %s", one, at)
		} else if !when.Equal(at) {
			t.Errorf("%s has the time %s, want %s", one, when, at)
		}
		ids = append(ids, one)
	}
	if !slices.IsSorted(ids) {
		t.Error("the ids are not in the order of their times")
	}
}
