package syncer_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// trips counts what the store is asked for between two fetches of a run.
type trips struct{ reads, commits int64 }

// TestSyncer_Trips counts the reads and commits of a page with 100 items, from its fetch to the next one. A page that changes nothing
// costs two reads, in a full run too. Of what has changed back at the provider, the time is written.
func TestSyncer_Trips(t *testing.T) {
	t.Parallel()
	const items = 100
	unchanged := func(int) int { return 0 }
	tests := []struct {
		name string
		full bool
		lead func(page int) int // offset of the ids of a page
		step time.Duration      // between the provider's times of two pages
		want trips
	}{
		{"unchanged", false, unchanged, 0, trips{reads: 2}},
		{"unchanged, in a full run", true, unchanged, 0, trips{reads: 2}},
		{"unchanged, with a later time", false, unchanged, time.Minute, trips{reads: 2, commits: 2}},
		{"created", false, func(page int) int { return 1000 * page }, 0, trips{reads: 2, commits: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := setupListing(t, items)
			var commits int64
			r.faulty.Before(func([]store.Op) error { commits++; return nil })
			var begun []trips
			r.provider.answer(func(_ context.Context, n int, _ connector.Fetch) (connector.FetchedPage, error) {
				begun = append(begun, trips{r.faulty.Reads(), commits})
				page := connector.FetchedPage{Memories: drafts(tt.lead(n), items)}
				changed := r.Clock.Now().Add(time.Duration(n)*tt.step - time.Hour)
				for i := range page.Memories {
					page.Memories[i].UpdatedAt = &changed
				}
				if n < 3 {
					page.Checkpoint = []byte(strconv.Itoa(n + 1))
				}
				return page, nil
			})
			r.sync(syncrun.Live, func(rec *syncrun.StoredRun) { rec.Full = tt.full })
			got := trips{begun[3].reads - begun[2].reads, begun[3].commits - begun[2].commits}
			if got != tt.want {
				t.Errorf("a page of %d items: %+v, want %+v", items, got, tt.want)
			}
		})
	}
}

// TestSyncer_Trips_Failed goes on behind the pages that changed nothing and were not written, when the page after them fails.
func TestSyncer_Trips_Failed(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(pages(4, 3))
	r.sync(syncrun.Live)
	fails := 1
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if n == 3 && fails > 0 {
			fails--
			return connector.FetchedPage{}, errDown
		}
		return pages(4, 3)(ctx, n, f)
	})
	rec := r.finishLate(r.request(syncrun.Live), syncrun.Succeeded)
	r.wantProgress(rec, syncrun.Progress{Pages: 4, Fetched: 12, Unchanged: 12})
	r.wantFetches(4 + 5)
}
