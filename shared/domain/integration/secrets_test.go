package integration_test

import (
	"context"
	"encoding/json"
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

// TestSecrets_Rotate_Grace ends the earlier secrets after a shorter grace, or at once: then none of them is kept.
func TestSecrets_Rotate_Grace(t *testing.T) {
	t.Parallel()
	s := integration.Secrets{}.Rotate("a", now, integration.RotationGrace).Rotate("b", now, integration.RotationGrace)
	tests := []struct {
		name  string
		value string
		grace time.Duration
		want  []integration.SigningSecret
	}{
		{"an hour", "c", time.Hour, []integration.SigningSecret{
			{Value: "c", CreatedAt: now}, {Value: "b", CreatedAt: now, RetiresAt: new(now.Add(time.Hour))}, {Value: "a", CreatedAt: now, RetiresAt: new(now.Add(time.Hour))},
		}},
		{"none", "c", 0, []integration.SigningSecret{{Value: "c", CreatedAt: now}}},
		{"none, with the same secret", "b", 0, []integration.SigningSecret{{Value: "b", CreatedAt: now}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, s.Rotate(tt.value, now, tt.grace).Signing); diff != "" {
			t.Errorf("%s: secrets (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSecrets_Rotate(t *testing.T) {
	t.Parallel()
	s := integration.Secrets{Values: map[string]string{"token": "t"}}.Rotate("a", now, integration.RotationGrace)
	first := integration.Secrets{Signing: []integration.SigningSecret{{Value: "a", CreatedAt: now}}, Values: map[string]string{"token": "t"}}
	if diff := cmp.Diff(first, s); diff != "" {
		t.Errorf("first secret, which never retires (-want +got):\n%s", diff)
	}
	s = s.Rotate("b", now, integration.RotationGrace)
	s = s.Rotate("c", now.Add(time.Hour), integration.RotationGrace)
	tests := []struct {
		after time.Duration
		want  []string
	}{
		{time.Hour, []string{"c", "b", "a"}},
		{24*time.Hour - 1, []string{"c", "b", "a"}},
		{24 * time.Hour, []string{"c", "b"}}, // a third secret does not extend the first one's grace
		{25*time.Hour - 1, []string{"c", "b"}},
		{25 * time.Hour, []string{"c"}},
		{1000 * time.Hour, []string{"c"}}, // the newest never retires
	}
	for _, tt := range tests {
		if live := s.Live(now.Add(tt.after)); !slices.Equal(live, tt.want) {
			t.Errorf("after %v: %v, want %v", tt.after, live, tt.want)
		}
	}
	soon := now.Add(2 * time.Hour)
	if live, want := s.Rotate("b", soon, integration.RotationGrace).Live(soon), []string{"b", "c", "a"}; !slices.Equal(live, want) {
		t.Errorf("live after rotating to an earlier secret: %v, want %v", live, want)
	}
	if later := s.Rotate("d", now.Add(100*time.Hour), integration.RotationGrace); len(later.Signing) != 2 {
		t.Errorf("%d secrets kept, want the two live ones", len(later.Signing))
	}
	var want []string // newest first
	for n := range 30 {
		s = s.Rotate(fmt.Sprint(n), now, integration.RotationGrace)
		want = append([]string{fmt.Sprint(n)}, want...)
	}
	if live := s.Live(now); !slices.Equal(live, want[:integration.MaxSecrets]) {
		t.Errorf("live after 30 rotations: %v, want %v", live, want[:integration.MaxSecrets])
	}
}

func TestSecrets_Store(t *testing.T) {
	t.Parallel()
	s, v := open(t)
	a, b := store.For(s, "a"), store.For(s, "b")
	want := integration.Secrets{Values: map[string]string{"token": "s3cr3t"}}.Rotate("whsec_s3cr3t", now, integration.RotationGrace)
	holds := func(want integration.Secrets, version int64) {
		t.Helper()
		got, at, err := integration.LoadSecrets(t.Context(), a, v, "github")
		errtest.Must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("secrets differ (-want +got):\n%s", diff)
		}
		if at != version {
			t.Errorf("secrets at version %d, want %d", at, version)
		}
	}
	holds(integration.Secrets{}, 0)
	op, err := integration.SaveSecrets(t.Context(), a, v, integration.Integration{Provider: "github"}, 0, want)
	errtest.Must(t, err)
	if !op.Quiet {
		t.Error("the feed shows the write, want it quiet")
	}
	if got := string(op.Body); strings.Contains(got, "s3cr3t") {
		t.Errorf("body %s, want it without the secrets", got)
	}
	errtest.Must(t, a.Commit(t.Context(), op))
	holds(want, 1)
	if err := a.Commit(t.Context(), op); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a write over an unread version: %v, want a conflict", err)
	}
	// An item that is moved to another company or provider does not open.
	errtest.Must(t, b.Commit(t.Context(), b.Create(integration.CredentialKey("github"), integration.CredentialEntity, op.Body)))
	errtest.Must(t, a.Commit(t.Context(), a.Create(integration.CredentialKey("feed"), integration.CredentialEntity, op.Body)))
	for c, provider := range map[store.Company]string{a: "feed", b: "github"} {
		got, _, err := integration.LoadSecrets(t.Context(), c, v, provider)
		if err == nil {
			t.Errorf("%s of %s: opened, want an error", provider, c.ID())
		}
		if got := errtest.Message(err); strings.Contains(got, "s3cr3t") {
			t.Errorf("%s of %s: error %q, want it without the secrets", provider, c.ID(), got)
		}
		if len(got.Signing) != 0 {
			t.Errorf("%s of %s: secrets %v, want none", provider, c.ID(), got.Signing)
		}
	}
}

// moved is an item of sealed fields, as stored.
type moved struct {
	Signing json.RawMessage            `json:"signing,omitempty"`
	Values  map[string]json.RawMessage `json:"values,omitempty"`
}

// TestSecrets_Fields seals each field for itself: a text that was moved to another field of the same provider does not open,
// and neither does a text copied from the same field of another provider.
func TestSecrets_Fields(t *testing.T) {
	t.Parallel()
	s, v := open(t)
	c := store.For(s, "a")
	sealed := func(provider string) (m moved) {
		t.Helper()
		secrets := integration.Secrets{Values: map[string]string{"token": "s3cr3t-1", "header": "s3cr3t-2", "signing": "s3cr3t-3"}}.Rotate("whsec_s3cr3t", now, 0)
		op, err := integration.SaveSecrets(t.Context(), c, v, integration.Integration{Provider: provider}, 0, secrets)
		errtest.Must(t, err)
		errtest.Must(t, json.Unmarshal(op.Body, &m))
		return m
	}
	tests := []struct {
		name string
		move func(m *moved)
		ok   bool
	}{
		{"as sealed", func(*moved) {}, true},
		{"two credentials exchanged", func(m *moved) { m.Values["token"], m.Values["header"] = m.Values["header"], m.Values["token"] }, false},
		{"a credential renamed", func(m *moved) { m.Values["other"] = m.Values["token"] }, false},
		{"a credential as the signing secret", func(m *moved) { m.Signing = m.Values["signing"] }, false},
		{"the signing secret as a credential", func(m *moved) { m.Values["signing"] = m.Signing }, false},
		{"of another provider", func(m *moved) { m.Values["token"] = sealed("linear").Values["token"] }, false},
	}
	for n, tt := range tests {
		m := sealed("github")
		tt.move(&m)
		item := c.Create(integration.CredentialKey("github"), integration.CredentialEntity, m)
		if n > 0 {
			item = c.Replace(integration.CredentialKey("github"), integration.CredentialEntity, int64(n), m)
		}
		errtest.Must(t, c.Commit(t.Context(), item))
		got, _, err := integration.LoadSecrets(t.Context(), c, v, "github")
		if tt.ok != (err == nil) {
			t.Errorf("%s: error %v, want it opened: %t", tt.name, err, tt.ok)
		}
		if !tt.ok && len(got.Values)+len(got.Signing) > 0 {
			t.Errorf("%s: secrets %v, want none", tt.name, got)
		}
	}
}

// TestReseal opens secrets in the form of release 0.1.0, moves them to the form of today once.
func TestReseal(t *testing.T) {
	t.Parallel()
	s, v := open(t)
	c := store.For(s, "a")
	want := integration.Secrets{Values: map[string]string{"token": "s3cr3t"}}.Rotate("whsec_s3cr3t", now, 0)
	plain, err := json.Marshal(want)
	errtest.Must(t, err)
	for _, provider := range []string{"github", "webhook-billing"} {
		text, err := v.Seal(t.Context(), "a", provider+"/secrets", plain)
		errtest.Must(t, err)
		errtest.Must(t, c.Commit(t.Context(), c.Create(integration.CredentialKey(provider), integration.CredentialEntity, map[string]any{"sealed": text}).Quietly()))
		errtest.Must(t, c.Commit(t.Context(), c.Create(integration.BoundsKey(provider, ""), integration.BoundsEntity, struct{}{}).Quietly()))
	}
	var resealed []int
	for _, version := range []int64{1, 2, 2} { // before, after the first and after the second call
		for _, provider := range []string{"github", "webhook-billing"} {
			got, at, err := integration.LoadSecrets(t.Context(), c, v, provider)
			errtest.Must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: secrets differ (-want +got):\n%s", provider, diff)
			}
			if at != version {
				t.Errorf("%s: version %d, want %d", provider, at, version)
			}
		}
		n, err := integration.Reseal(t.Context(), c, v)
		errtest.Must(t, err)
		resealed = append(resealed, n)
	}
	if diff := cmp.Diff([]int{2, 0, 0}, resealed); diff != "" {
		t.Errorf("integrations resealed by each call (-want +got):\n%s", diff)
	}
	item, err := c.Get(t.Context(), integration.CredentialKey("github"), nil)
	errtest.Must(t, err)
	if strings.Contains(string(item.Body), `"sealed"`) {
		t.Errorf("item %s, want it without the former form", item.Body)
	}
}

// TestReader_LoadSecretsAndBounds reads both items of an endpoint, and none of an endpoint whose name begins with its name.
func TestReader_LoadSecretsAndBounds(t *testing.T) {
	t.Parallel()
	s, v := open(t)
	c := store.For(s, "a")
	for _, provider := range []string{"webhook", "webhook-billing"} {
		op, err := integration.SaveSecrets(t.Context(), c, v, integration.Integration{Provider: provider}, 0, integration.Secrets{}.Rotate(provider, now, 0))
		errtest.Must(t, err)
		errtest.Must(t, c.Commit(t.Context(), op))
	}
	bounds := c.Create(integration.BoundsKey("webhook-billing", ""), integration.BoundsEntity, json.RawMessage(`{"n":1}`)).Quietly()
	errtest.Must(t, c.Commit(t.Context(), bounds))
	var r integration.Reader
	for provider, version := range map[string]int64{"webhook": 0, "webhook-billing": 1} {
		secrets, item, err := r.LoadSecretsAndBounds(t.Context(), c, v, provider, "")
		errtest.Must(t, err)
		if diff := cmp.Diff([]string{provider}, secrets.Live(now)); diff != "" {
			t.Errorf("%s: secrets differ (-want +got):\n%s", provider, diff)
		}
		if item.Version != version {
			t.Errorf("%s: bounds at version %d, want %d", provider, item.Version, version)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, item, err := r.LoadSecretsAndBounds(ended, c, v, "webhook", ""); item != nil {
		t.Errorf("bounds = %+v and error %v when the store does not answer, want no bounds", item, err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	_, _, err := integration.Load(t.Context(), store.For(s, "a"), "github")
	if got := fault.KindOf(err); got != fault.NotFound {
		t.Errorf("error %v of kind %s, want %s", err, got, fault.NotFound)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	c := store.For(s, "a")
	var ops []store.Op
	var want []integration.Stored
	for n := range 60 { // more than MaxPerCompany, and an item of another entity whose key begins alike
		i := integration.Integration{Provider: fmt.Sprintf("webhook-%02d", n), Config: json.RawMessage(`{}`)}
		ops = append(ops, c.Create(integration.Key(i.Provider), integration.Entity, i))
		want = append(want, integration.Stored{Integration: i, Version: 1})
	}
	errtest.Must(t, c.Commit(t.Context(), append(ops, c.Create("INTEGRATIONX", "other", struct{}{}))...))
	got, err := integration.List(t.Context(), c)
	errtest.Must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("integrations differ (-want +got):\n%s", diff)
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
