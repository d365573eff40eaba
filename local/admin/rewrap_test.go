package admin_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/admin"
	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/storage/vault"
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
	for _, id := range ids[:2] {
		var err error
		if sealed[id], err = e.Vault.Seal(t.Context(), id, "l", []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
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
	if out, err := run("keys", "rewrap"); err == nil || key() != old {
		t.Errorf("while a service runs: %s, %v", out, err)
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
	if err == nil || !strings.Contains(out, `"company":"`+ids[0]) || !strings.Contains(out, `{"rewrapped":1,"current":0,"without":1,"failed":1}`) {
		t.Errorf("with a damaged key: %s, %v", out, err)
	}
	if lines := strings.Split(strings.TrimSpace(key()), "\n"); len(lines) != 2 || lines[1]+"\n" != old {
		t.Errorf("the file has %d keys, want the new one and the previous one", len(lines))
	}
	e = open(false)
	keys = vault.StoreKeys{Store: e.Store}
	if err := keys.Replace(t.Context(), ids[0], []byte("damaged"), good); err != nil {
		t.Fatal(err)
	}
	for id, s := range sealed {
		if got, err := e.Vault.Open(t.Context(), id, "l", s); err != nil || string(got) != "secret" {
			t.Errorf("between two runs: %q, %v", got, err)
		}
	}
	closed(e)
	if out, err = run("keys", "rewrap"); err != nil || out != `{"rewrapped":1,"current":1,"without":1,"failed":0}`+"\n" {
		t.Errorf("a second run: %s, %v", out, err)
	}
	if strings.Contains(key(), strings.TrimSpace(old)) || strings.Count(key(), "\n") != 1 {
		t.Error("the former key is still there")
	}
	if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key())); err != nil || len(b) != 32 {
		t.Error(len(b), err)
	}
	e = open(false)
	defer closed(e)
	for id, s := range sealed {
		if got, err := e.Vault.Open(t.Context(), id, "l", s); err != nil || string(got) != "secret" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
		if _, err := e.Vault.Open(t.Context(), ids[2], "l", s); !errors.Is(err, vault.ErrSealed) {
			t.Error(err)
		}
	}
}
