package connector_test

import (
	"fmt"
	"testing"

	"orgops/shared/provider/connector"
)

// TestTrail_Add walks into cycles. A cycle of at most 64 pages, or back to the first page, is found at once; a longer one at its
// second page, and one of more than 4,096 pages within three rounds. The trail stays small.
func TestTrail_Add(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tail, length, late int }{
		{0, 1, 0}, {0, 2, 0}, {5, 3, 0}, {100, 64, 0}, {0, 500, 0}, {10, 65, 1}, {200, 100, 1}, {7, 1000, 1}, {1, 4000, 1}, {3000, 4000, 1}, {5, 5000, 3 * 5000},
	} {
		trail, pages, repeated := connector.Trail{}, 0, false
		for at := 0; !repeated && pages < 30_000; pages++ {
			if trail, repeated = trail.Add(fmt.Sprint("page ", at)); at == tt.tail+tt.length-1 {
				at = tt.tail - 1
			}
			at++
		}
		if most := tt.tail + tt.length + 1 + tt.late; pages > most {
			t.Errorf("a tail of %d and a cycle of %d: found at page %d, want at most %d", tt.tail, tt.length, pages, most)
		}
		if size, most := len(trail.Last)+len(trail.Steps), 512+3*min(pages, 4096); size > most {
			t.Errorf("the trail keeps %d bytes of %d pages, want at most %d", size, pages, most)
		}
	}
}

func TestTrail_Add_straight(t *testing.T) {
	t.Parallel()
	var trail connector.Trail
	var repeated bool
	for n := range 10_000 {
		if trail, repeated = trail.Add(fmt.Sprint("page ", n)); repeated {
			t.Fatalf("page %d counts as repeated, want a list without end to go on", n)
		}
	}
}
