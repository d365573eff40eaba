package arrival_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/arrival"
	"orgops/shared/testkit/errtest"
)

func noon() time.Time { return time.Date(2026, 3, 2, 12, 30, 0, 0, time.UTC) }

// TestHours_AnyOrder gives the same hours for any order of what is counted, and for any way of adding up parts.
func TestHours_AnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		at := make([]time.Time, 1+r.IntN(40))
		last := time.Time{}
		for n := range at {
			at[n] = noon().Add(-time.Duration(r.Int64N(int64(60 * time.Hour)))).Truncate(time.Millisecond)
			if at[n].After(last) {
				last = at[n]
			}
		}
		var want int64
		for _, t := range at {
			if last.Truncate(time.Hour).Sub(t.Truncate(time.Hour)) < arrival.Steps*time.Hour {
				want++
			}
		}
		var first arrival.Hours
		for n := range 4 {
			r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
			cut := r.IntN(len(at) + 1)
			var a, b arrival.Hours
			for _, t := range at[:cut] {
				a = a.Add(t, 1)
			}
			for _, t := range at[cut:] {
				b = b.Add(t, 1)
			}
			got := a.Merge(b)
			if n == 0 {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Fatalf("seed %d: hours differ (-one order +another):\n%s", seed, diff)
			}
			if sum := got.Since(time.Time{}); sum != want {
				t.Fatalf("seed %d: %d counted, want %d", seed, sum, want)
			}
			if !got.Last().Equal(last) {
				t.Fatalf("seed %d: last at %v, want %v", seed, got.Last(), last)
			}
		}
	}
}

// TestHours_Since counts the hours that end after a time.
func TestHours_Since(t *testing.T) {
	t.Parallel()
	h := arrival.Hours{}.Add(noon(), 4).Add(noon().Add(-time.Hour), 2).Add(noon().Add(-3*time.Hour), 1)
	for ago, want := range map[time.Duration]int64{
		-30 * time.Minute: 0, 0: 4, 29 * time.Minute: 4, 31 * time.Minute: 6, 2 * time.Hour: 6, 3 * time.Hour: 7, 24 * time.Hour: 7,
	} {
		if got := h.Since(noon().Add(-ago)); got != want {
			t.Errorf("since %v before: %d, want %d", ago, got, want)
		}
	}
	if got := (arrival.Hours)(nil).Since(time.Time{}); got != 0 {
		t.Errorf("of nothing: %d, want 0", got)
	}
}

// TestHours_Trim drops the counts of long before a time, and keeps the time of the newest.
func TestHours_Trim(t *testing.T) {
	t.Parallel()
	h := arrival.Hours{}.Add(noon(), 4).Add(noon().Add(-2*time.Hour), 2)
	for after, want := range map[time.Duration]arrival.Hours{
		-time.Hour: {noon().UnixMilli(), 4, 0, 2}, 22 * time.Hour: {noon().UnixMilli(), 4, 0, 2}, 23 * time.Hour: {noon().UnixMilli(), 4},
		24 * time.Hour: {noon().UnixMilli(), 4}, 25 * time.Hour: {noon().UnixMilli()}, 1000 * time.Hour: {noon().UnixMilli()},
	} {
		if diff := cmp.Diff(want, h.Trim(noon().Add(after))); diff != "" {
			t.Errorf("%v later (-want +got):\n%s", after, diff)
		}
	}
	if got := h.Trim(noon().Add(25*time.Hour)).Add(noon().Add(24*time.Hour), 1); len(got) != 2 {
		t.Errorf("hours %v after another count, want one count", got)
	}
}

// TestRefusals_Bounded stays small however many reasons and hours there are.
func TestRefusals_Bounded(t *testing.T) {
	t.Parallel()
	var r arrival.Refusals
	for n := range 5000 {
		r.Add(arrival.Class(n%2), strings.Repeat("x", 1000)+fmt.Sprint(n), noon().Add(time.Duration(n)*time.Minute), 1_000_000)
		r.Add(arrival.Class(n%2), fmt.Sprint(n, strings.Repeat("x", 1000)), noon().Add(time.Duration(n)*time.Minute), 1_000_000)
	}
	raw, err := json.Marshal(r)
	errtest.Must(t, err)
	if most := 8 << 10; len(raw) > most {
		t.Errorf("%d bytes, want %d at most", len(raw), most)
	}
	for _, counts := range []arrival.Counts{r.Verified, r.Unverified} {
		if len(counts) > 9 {
			t.Errorf("%d reasons, want 9 at most, with that of the others", len(counts))
		}
	}
}
