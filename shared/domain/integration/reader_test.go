package integration_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// countingVault counts what is opened.
type countingVault struct {
	integration.Vault
	opened int
}

func (v *countingVault) Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error) {
	v.opened++
	return v.Vault.Open(ctx, company, label, sealed)
}

// TestReader_Load returns each version of an integration, and none that was deleted.
func TestReader_Load(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	a, b := store.For(s, "a"), store.For(s, "b")
	var r integration.Reader
	reads := func(c store.Company, want integration.Integration, version int64) {
		t.Helper()
		for range 2 {
			got, at, err := r.Load(t.Context(), c, "github")
			errtest.Must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("integration differs (-want +got):\n%s", diff)
			}
			if at != version {
				t.Errorf("version %d, want %d", at, version)
			}
		}
	}
	missing := func() {
		t.Helper()
		if _, _, err := r.Load(t.Context(), a, "github"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("error %v, want not found", err)
		}
	}
	missing()
	first := integration.Integration{Provider: "github", State: integration.Sandbox, Config: []byte(`{}`), Permissions: []integration.Port{integration.SyncPull}}
	second := first
	second.State, second.Enabled = integration.Certified, true
	key := integration.Key("github")
	errtest.Must(t, a.Commit(t.Context(), a.Create(key, integration.Entity, first)))
	reads(a, first, 1)
	errtest.Must(t, b.Commit(t.Context(), b.Create(key, integration.Entity, second)))
	reads(b, second, 1)
	reads(a, first, 1)
	errtest.Must(t, a.Commit(t.Context(), a.Replace(key, integration.Entity, 1, second)))
	reads(a, second, 2)
	errtest.Must(t, a.Commit(t.Context(), a.Delete(key, integration.Entity, 2)))
	missing()
	errtest.Must(t, a.Commit(t.Context(), a.Create(key, integration.Entity, first)))
	reads(a, first, 1)
}

// TestReader_LoadSecrets opens secrets again only when they have changed, and never for another company or provider.
func TestReader_LoadSecrets(t *testing.T) {
	t.Parallel()
	s, sealer := open(t)
	v := &countingVault{Vault: sealer}
	a, b := store.For(s, "a"), store.For(s, "b")
	var r integration.Reader
	reads := func(version int64, want ...string) {
		t.Helper()
		got, at, err := r.LoadSecrets(t.Context(), a, v, "github")
		errtest.Must(t, err)
		if live := got.Live(now); !slices.Equal(live, want) {
			t.Errorf("secrets %q, want %q", live, want)
		}
		if at != version {
			t.Errorf("version %d, want %d", at, version)
		}
	}
	save := func(version int64, value string) store.Op {
		t.Helper()
		op, err := integration.SaveSecrets(t.Context(), a, v, integration.Integration{Provider: "github"}, version, integration.Secrets{}.Rotate(value, now, 0))
		errtest.Must(t, err)
		errtest.Must(t, a.Commit(t.Context(), op))
		return op
	}
	reads(0)
	op := save(0, "first")
	for range 3 {
		reads(1, "first")
	}
	if v.opened != 1 {
		t.Errorf("%d opened, want 1", v.opened)
	}
	save(1, "second")
	reads(2, "second")
	if v.opened != 2 {
		t.Errorf("%d opened, want 2", v.opened)
	}
	errtest.Must(t, b.Commit(t.Context(), b.Create(integration.CredentialKey("github"), integration.CredentialEntity, op.Body)))
	errtest.Must(t, a.Commit(t.Context(), a.Create(integration.CredentialKey("feed"), integration.CredentialEntity, op.Body)))
	for c, provider := range map[store.Company]string{a: "feed", b: "github"} {
		for range 2 {
			if got, _, err := r.LoadSecrets(t.Context(), c, v, provider); err == nil {
				t.Errorf("%s of %s: %v, want an error", provider, c.ID(), got)
			}
		}
	}
}

// TestReader_LoadSecrets_Ends drops opened secrets from memory after a minute.
func TestReader_LoadSecrets_Ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &countingVault{Vault: plainVault{}}
		op, err := integration.SaveSecrets(t.Context(), store.For(oneItem{}, "a"), v, integration.Integration{Provider: "github"}, 0, integration.Secrets{}.Rotate("secret", now, 0))
		errtest.Must(t, err)
		c := store.For(oneItem{store.Item{Key: op.Key, Version: 1, Body: op.Body}}, "a")
		var r integration.Reader
		for _, want := range []int{1, 1, 2, 2} {
			_, _, err := r.LoadSecrets(t.Context(), c, v, "github")
			errtest.Must(t, err)
			if v.opened != want {
				t.Errorf("%d opened, want %d", v.opened, want)
			}
			<-time.After(30 * time.Second) // of the bubble
		}
	})
}

// oneItem is a store with one item.
type oneItem struct{ item store.Item }

func (s oneItem) Get(context.Context, store.Partition, string) (store.Item, error) {
	return s.item, nil
}

func (s oneItem) GetMany(context.Context, store.Partition, []string) ([]store.Item, error) {
	return []store.Item{s.item}, nil
}

func (oneItem) Query(context.Context, store.Partition, store.Query) (store.Page, error) {
	return store.Page{}, nil
}

func (oneItem) Commit(context.Context, ...store.Op) error { return nil }

// plainVault seals nothing.
type plainVault struct{}

func (plainVault) Seal(_ context.Context, _, _ string, text []byte) ([]byte, error) { return text, nil }
func (plainVault) Open(_ context.Context, _, _ string, text []byte) ([]byte, error) { return text, nil }
