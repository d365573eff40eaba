package syncer_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connect"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
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

// TestSyncer_OtherWay connects a source by an address that stands for the configured one, while a run waits for its second page. The run
// ends: its checkpoint may hold the address of before. The next run reads everything through the other one.
func TestSyncer_OtherWay(t *testing.T) {
	t.Parallel()
	r, l := setupListing(t, 2, "1", "2", "3")
	r.Access = connect.Access{Vault: r.Syncer.Vault, Now: r.Clock.Now}
	var bases []string
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if bases = append(bases, f.Base); len(bases) == 2 {
			return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}
		}
		return l.list(ctx, n, f)
	})
	j := r.request(syncrun.Live)
	due := r.handle(j)
	company, base := store.For(r.Harness.Store, "a"), "https://api.example.com/site"
	stored, _, err := integration.Load(t.Context(), company, "paged")
	errtest.Must(t, err)
	secrets, version, err := integration.LoadSecrets(t.Context(), company, r.Syncer.Vault, "paged")
	errtest.Must(t, err)
	errtest.Must(t, secrets.SealGrant(t.Context(), company, r.Syncer.Vault, stored, integration.Grant{Access: "t", Base: base}))
	op, err := integration.SaveSecrets(t.Context(), company, r.Syncer.Vault, stored, version, secrets)
	errtest.Must(t, err)
	errtest.Must(t, company.Commit(t.Context(), op))
	r.Change("a", "paged", func(i *integration.Integration) {
		*i = i.Connect(integration.Connection{ID: "1", By: "u", At: r.Clock.Now()}, time.Time{})
	})
	r.Clock.Set(due)
	run := r.finish(j, syncrun.Failed)
	if want := "the integration was connected in another way while the sync was under way; request another sync"; run.Error != want {
		t.Errorf("the run's error is %q, want %q", run.Error, want)
	}
	r.finish(r.request(syncrun.Live), syncrun.Succeeded)
	if diff := cmp.Diff([]string{"", "", base, base}, bases); diff != "" {
		t.Errorf("the addresses of the fetches differ (-want +got):\n%s", diff)
	}
	r.wantStored("1", "2", "3")
}
