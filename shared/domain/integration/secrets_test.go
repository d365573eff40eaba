package integration_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
)

func TestSecrets_Rotate(t *testing.T) {
	t.Parallel()
	s := integration.Secrets{Values: map[string]string{"token": "t"}}.Rotate("a", now)
	if live := s.Live(now.Add(1000 * time.Hour)); !slices.Equal(live, []string{"a"}) || s.Values["token"] != "t" {
		t.Errorf("live = %v, want the first secret, which never retires", live)
	}
	s = s.Rotate("b", now)
	s = s.Rotate("c", now.Add(time.Hour))
	tests := []struct {
		after time.Duration
		want  []string
	}{
		{time.Hour, []string{"c", "b", "a"}},
		{24*time.Hour - 1, []string{"c", "b", "a"}},
		{24 * time.Hour, []string{"c", "b"}}, // a third secret does not extend the first one's grace
		{25*time.Hour - 1, []string{"c", "b"}},
		{25 * time.Hour, []string{"c"}},
	}
	for _, tt := range tests {
		if live := s.Live(now.Add(tt.after)); !slices.Equal(live, tt.want) {
			t.Errorf("after %v: %v, want %v", tt.after, live, tt.want)
		}
	}
	if again := s.Rotate("b", now.Add(2*time.Hour)); !slices.Equal(again.Live(now.Add(2*time.Hour)), []string{"b", "c", "a"}) {
		t.Errorf("live after rotating to an earlier secret: %v", again.Live(now.Add(2*time.Hour)))
	}
	if later := s.Rotate("d", now.Add(100*time.Hour)); len(later.Signing) != 2 {
		t.Errorf("%d secrets kept, want the two live ones", len(later.Signing))
	}
	for n := range 30 {
		s = s.Rotate(fmt.Sprint(n), now)
	}
	if live := s.Live(now); len(live) != integration.MaxSecrets || live[0] != "29" {
		t.Errorf("%v", live)
	}
}

func TestSecrets_Store(t *testing.T) {
	t.Parallel()
	s, v := open(t)
	a, b := store.For(s, "a"), store.For(s, "b")
	want := integration.Secrets{Values: map[string]string{"token": "s3cr3t"}}.Rotate("whsec_s3cr3t", now)
	if got, version, err := integration.LoadSecrets(t.Context(), a, v, "github"); err != nil || version != 0 || len(got.Live(now)) != 0 {
		t.Fatalf("none yet: version %d, %v", version, err)
	}
	op, err := integration.SaveSecrets(t.Context(), a, v, "github", 0, want)
	errtest.Must(t, err)
	if !op.Quiet || strings.Contains(string(op.Body), "s3cr3t") {
		t.Errorf("the feed or the store shows %s", op.Body)
	}
	errtest.Must(t, a.Commit(t.Context(), op))
	got, version, err := integration.LoadSecrets(t.Context(), a, v, "github")
	if diff := cmp.Diff(want, got); diff != "" || version != 1 || err != nil {
		t.Errorf("version %d, %v\n%s", version, err, diff)
	}
	if err := a.Commit(t.Context(), op); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a write over an unread version: %v, want a conflict", err)
	}
	// An item that is moved to another company or provider does not open.
	errtest.Must(t, b.Commit(t.Context(), b.Create(integration.CredentialKey("github"), integration.CredentialEntity, op.Body)))
	errtest.Must(t, a.Commit(t.Context(), a.Create(integration.CredentialKey("feed"), integration.CredentialEntity, op.Body)))
	for c, provider := range map[store.Company]string{a: "feed", b: "github"} {
		if got, _, err := integration.LoadSecrets(t.Context(), c, v, provider); err == nil || len(got.Signing) != 0 || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s of %s: %v", provider, c.ID(), err)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	c := store.For(s, "a")
	if _, _, err := integration.Load(t.Context(), c, "github"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	var ops []store.Op
	for n := range 60 { // more than MaxPerCompany, and an item of another entity whose key begins alike
		name := fmt.Sprintf("webhook-%02d", n)
		ops = append(ops, c.Create(integration.Key(name), integration.Entity, integration.Integration{Provider: name}))
	}
	errtest.Must(t, c.Commit(t.Context(), append(ops, c.Create("INTEGRATIONX", "other", struct{}{}))...))
	all, err := integration.List(t.Context(), c)
	if err != nil || len(all) != 60 || all[7].Provider != "webhook-07" || all[7].Version != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
}

func open(t *testing.T) (*sqlitestore.Store, *vault.Sealer) {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlitedb.Open(context.Background(), filepath.Join(dir, "orgops.db"), sqlitedb.Options{})
	errtest.Must(t, err)
	s, err := sqlitestore.Open(context.Background(), db, sqlitestore.Options{})
	errtest.Must(t, err)
	t.Cleanup(func() {
		errtest.Must(t, s.Close())
		errtest.Must(t, db.Close())
	})
	wrapper, err := vault.OpenFileKey(filepath.Join(dir, "vault.key"))
	errtest.Must(t, err)
	return s, vault.New(wrapper, vault.StoreKeys{Store: s}, nil)
}
