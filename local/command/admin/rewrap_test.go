package admin_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/command/admin"
	"orgops/local/process"
	"orgops/shared/domain/company"
	"orgops/shared/domain/integration"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
)

// TestRewrap replaces the vault key. While a company's data key cannot be unwrapped, the file keeps both keys.
func TestRewrap(t *testing.T) {
	t.Parallel()
	folder, ids := t.TempDir(), []string{}
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := admin.Run(t.Context(), admin.Env{Config: config.Config{Data: folder}, Getenv: func(string) string { return "" }, Out: &out}, args)
		return out.String(), err
	}
	for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		out, err := run("company", "create", "--name", "Example", "--email", email)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(out, `"companyId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		ids = append(ids, id)
	}
	open := func(serving bool) *process.Embedded {
		t.Helper()
		e, err := process.OpenEmbedded(t.Context(), folder, serving, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	closed := func(e *process.Embedded) {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e := open(true)
	sealed := map[string][]byte{}
	for _, id := range append(ids[:2:2], company.PersonsKey) {
		var err error
		if sealed[id], err = e.Vault.Seal(t.Context(), id, "l", []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
	former, err := e.Vault.Seal(t.Context(), ids[1], "github/secrets", []byte(`{"values":{"token":"secret"}}`))
	errtest.Must(t, err)
	c := store.For(e.Store, ids[1])
	errtest.Must(t, c.Commit(t.Context(), c.Create(integration.CredentialKey("github"), integration.CredentialEntity, map[string]any{"sealed": former}).Quietly()))
	path := filepath.Join(folder, process.VaultFile)
	key := func() string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	old := key()
	if out, err := run("keys", "rewrap"); err == nil {
		t.Errorf("while a service runs: output = %s, want an error", out)
	}
	if key() != old {
		t.Error("while a service runs: the file has changed")
	}
	wantText := func(e *process.Embedded, company string) {
		t.Helper()
		got, err := e.Vault.Open(t.Context(), company, "l", sealed[company])
		errtest.Must(t, err)
		if string(got) != "secret" {
			t.Errorf("text of %s = %q, want secret", company, got)
		}
	}

	keys := vault.StoreKeys{Store: e.Store}
	good, err := keys.Get(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Replace(t.Context(), ids[0], good, []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	closed(e)
	out, err := run("keys", "rewrap")
	if err == nil {
		t.Error("with a damaged key: no error")
	}
	for _, want := range []string{`"company":"` + ids[0], `{"rewrapped":2,"current":0,"without":1,"failed":1,"resealed":1}`} {
		if !strings.Contains(out, want) {
			t.Errorf("with a damaged key: output = %s, want one with %s", out, want)
		}
	}
	if got := strings.Count(key(), "\n"); got != 2 {
		t.Errorf("the file has %d keys, want 2", got)
	}
	if !strings.HasSuffix(key(), "\n"+old) {
		t.Error("the file does not end with the previous key")
	}
	e = open(false)
	keys = vault.StoreKeys{Store: e.Store}
	if err := keys.Replace(t.Context(), ids[0], []byte("damaged"), good); err != nil {
		t.Fatal(err)
	}
	for id := range sealed { // between two runs
		wantText(e, id)
	}
	closed(e)
	out, err = run("keys", "rewrap")
	errtest.Must(t, err)
	if want := `{"rewrapped":1,"current":2,"without":1,"failed":0,"resealed":0}` + "\n"; out != want {
		t.Errorf("a second run: output = %s, want %s", out, want)
	}
	if strings.Contains(key(), strings.TrimSpace(old)) {
		t.Error("the former key is still there")
	}
	if got := strings.Count(key(), "\n"); got != 1 {
		t.Errorf("the file has %d keys, want 1", got)
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key()))
	errtest.Must(t, err)
	if len(b) != 32 {
		t.Errorf("the key has %d bytes, want 32", len(b))
	}
	e = open(false)
	defer closed(e)
	secrets, version, err := integration.LoadSecrets(t.Context(), store.For(e.Store, ids[1]), e.Vault, "github")
	errtest.Must(t, err)
	if got := fmt.Sprint(secrets.Values["token"], " ", version); got != "secret 2" {
		t.Errorf("token and version of the secrets = %s, want secret 2: sealed again once", got)
	}
	for id, s := range sealed {
		wantText(e, id)
		if _, err := e.Vault.Open(t.Context(), ids[2], "l", s); !errors.Is(err, vault.ErrSealed) {
			t.Errorf("as another company: err = %v, want %v", err, vault.ErrSealed)
		}
	}
}
