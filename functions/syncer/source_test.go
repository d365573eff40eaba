package syncer_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
)

// TestSyncer_OtherSource changes what an integration fetches while a full run waits for its second page. The run ends: the
// checkpoint belongs to the source of before, and the sweep would remove the items that only the other source has.
func TestSyncer_OtherSource(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*integration.Integration){
		"configuration": func(i *integration.Integration) { i.Config = json.RawMessage(`{"url":"other"}`) },
		"permissions": func(i *integration.Integration) {
			i.Narrowed, i.Permissions = true, []integration.Port{integration.SyncPull, integration.MemoryUpsert}
		},
		"configured again": func(i *integration.Integration) { i.CreatedAt = i.CreatedAt.Add(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, l := setupListing(t, 2, "1", "2", "3")
			r.put("paged", "9", "entry") // only the other source has it
			j := r.request(syncrun.Live, full)
			r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
				if n == 1 {
					return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}
				}
				return l.list(ctx, n, f)
			})
			due := r.handle(j)
			r.Change("a", "paged", change)
			r.provider.answer(l.list)
			r.Clock.Set(due)
			run := r.finish(j, syncrun.Failed)
			if want := "the configuration was changed while the sync was under way; request another sync"; run.Error != want {
				t.Errorf("the run's error is %q, want %q", run.Error, want)
			}
			r.wantStored("1", "2", "9")
			if slot := r.slot(); !slot.FullAt.IsZero() {
				t.Errorf("the slot says that a full run succeeded at %v, want none", slot.FullAt)
			}
		})
	}
}

// TestSyncer_SameSource goes on after a change of a field that the certification does not cover.
func TestSyncer_SameSource(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.request(syncrun.Live)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if n == 1 && r.provider.fetches() == 2 {
			return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}
		}
		return pages(2, 3)(ctx, n, f)
	})
	due := r.handle(j)
	r.Change("a", "paged", func(i *integration.Integration) { i.Config = json.RawMessage(`{"maxItems":9,"url":"u"}`) })
	r.Clock.Set(due)
	r.wantProgress(r.finish(j, syncrun.Succeeded), syncrun.Progress{Pages: 2, Fetched: 6, Created: 6})
}
