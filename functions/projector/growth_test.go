package projector_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// spreading is a store that notes what it is asked to spread.
type spreading struct {
	store.Store
	parts map[string]int
}

func (s spreading) Parts(_ context.Context, company string) (int, error) {
	return max(s.parts[company], 1), nil
}

func (s spreading) Spread(_ context.Context, company string, parts int) (int, error) {
	s.parts[company] = parts
	return parts, nil
}

// TestProjector_Growth checks that a company grows when it has had many changes for five minutes, which two processes count together,
// and that a burst or a slow company does not.
func TestProjector_Growth(t *testing.T) {
	t.Parallel()
	clock := clocktest.At(time.Now()) // the store has its own
	s := spreading{webtest.New(t).Store, map[string]int{}}
	busy, burst, slow := id.New(), id.New(), id.New()
	var workers []*projector.Projector
	for range 2 {
		workers = append(workers, &projector.Projector{Store: s, Logger: slog.New(slog.DiscardHandler), Now: clock.Now})
	}
	changes := func(company string, n int) (all []store.Change) {
		for i := range n {
			all = append(all, store.Change{Company: company, Key: fmt.Sprint("OTHER#", i), Entity: "other", Sequence: "1", At: clock.Now()})
		}
		return all
	}
	spread := func(minutes, each int, company string) int {
		for range minutes {
			for _, w := range workers {
				errtest.Must(t, w.Handle(t.Context(), store.Batch{Changes: changes(company, each)}))
			}
			clock.Advance(time.Minute)
		}
		return max(s.parts[company], 1)
	}
	type grown struct{ Slow, Burst, Four, Five, More, Most int }
	got := grown{
		Slow: spread(6, 1700, slow), Burst: spread(1, 40_000, burst), Four: spread(4, 1900, busy), Five: spread(1, 1900, busy),
		More: spread(6, 14_000, busy), Most: spread(6, 15_000, busy),
	}
	if diff := cmp.Diff(grown{Slow: 1, Burst: 1, Four: 1, Five: 8, More: 8, Most: 64}, got); diff != "" {
		t.Errorf("sub-partitions (-want +got):\n%s", diff)
	}
}
