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

	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/sqlitedb"
	"orgops/shared/store"
	"orgops/shared/store/sqlitestore"
	"orgops/shared/vault"
)

func TestSecrets_Rotate(t *testing.T) {
	t.Parallel()
	s := integration.Secrets{Values: map[string]string{"token": "t"}}.Rotate("a", now)
	if live := s.Live(now.Add(1000 * time.Hour)); !slices.Equal(live, []string{"a"}) || s.Values["token"] != "t" {
		t.Errorf("the first never retires: %v", live)
	}
	s = s.Rotate("b", now)
	s = s.Rotate("c", now.Add(time.Hour))
	tests := []struct {
		after time.Duration
		want  []string
	}{
		{time.Hour, []string{"c", "b", "a"}},
		{24*time.Hour - 1, []string{"c", "b", "a"}},
		{24 * time.Hour, []string{"c", "b"}}, // a third secret does not lengthen the first one's life
		{25*time.Hour - 1, []string{"c", "b"}},
		{25 * time.Hour, []string{"c"}},
	}
	for _, tt := range tests {
		if live := s.Live(now.Add(tt.after)); !slices.Equal(live, tt.want) {
			t.Errorf("after %v: %v, want %v", tt.after, live, tt.want)
		}
	}
	if again := s.Rotate("b", now.Add(2*time.Hour)); !slices.Equal(again.Live(now.Add(2*time.Hour)), []string{"b", "c", "a"}) {
		t.Errorf("one that was there before: %v", again.Live(now.Add(2*time.Hour)))
	}
	if later := s.Rotate("d", now.Add(100*time.Hour)); len(later.Signing) != 2 {
		t.Errorf("%d are kept of which two are live", len(later.Signing))
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
	must(t, err)
	if !op.Quiet || strings.Contains(string(op.Body), "s3cr3t") {
		t.Errorf("the feed or the store sees %s", op.Body)
	}
	must(t, a.Commit(t.Context(), op))
	got, version, err := integration.LoadSecrets(t.Context(), a, v, "github")
	if diff := cmp.Diff(want, got); diff != "" || version != 1 || err != nil {
		t.Errorf("version %d, %v\n%s", version, err, diff)
	}
	if err := a.Commit(t.Context(), op); !errors.Is(err, store.ErrConflict) {
		t.Errorf("written over what was not read: %v", err)
	}
	// Moved to another company or provider, it opens for nobody.
	must(t, b.Commit(t.Context(), b.Create(integration.CredentialKey("github"), integration.CredentialEntity, op.Body)))
	must(t, a.Commit(t.Context(), a.Create(integration.CredentialKey("feed"), integration.CredentialEntity, op.Body)))
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
	for n := range 60 { // more than are counted to, and one of another kind beside them
		name := fmt.Sprintf("webhook-%02d", n)
		ops = append(ops, c.Create(integration.Key(name), integration.Entity, integration.Integration{Provider: name}))
	}
	must(t, c.Commit(t.Context(), append(ops, c.Create("INTEGRATIONX", "other", struct{}{}))...))
	all, err := integration.List(t.Context(), c)
	if err != nil || len(all) != 60 || all[7].Provider != "webhook-07" || all[7].Version != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
}

func open(t *testing.T) (*sqlitestore.Store, *vault.Sealer) {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlitedb.Open(context.Background(), filepath.Join(dir, "orgops.db"), sqlitedb.Options{})
	must(t, err)
	s, err := sqlitestore.Open(context.Background(), db, sqlitestore.Options{})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		must(t, db.Close())
	})
	wrapper, err := vault.OpenFileKey(filepath.Join(dir, "vault.key"))
	must(t, err)
	return s, vault.New(wrapper, vault.StoreKeys{Store: s}, nil)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
