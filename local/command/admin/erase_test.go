package admin_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/command/admin"
	"orgops/local/process"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/export"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// word is planted in everything that a company stores.
const word = "Xylophonist"

// TestCompany_Erase erases a company, and looks for its words in every file of the data folder: of the items, of their former
// versions, of the change log and of the write-ahead log. The other company stays.
func TestCompany_Erase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := admin.Run(t.Context(), admin.Env{
			Config: config.Config{Data: folder}, Getenv: func(string) string { return "" }, In: strings.NewReader(""), Out: &out,
		}, args)
		return out.String(), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		errtest.Must(t, err)
		return out
	}
	create := func(name, email string) (id string) {
		var made struct{ CompanyID string }
		errtest.Must(t, json.Unmarshal([]byte(must("company", "create", "--name", name, "--email", email)), &made))
		return made.CompanyID
	}
	acme, beta := create(word, word+"@acme.test"), create("Beta", "bob@beta.test")
	plant(t, folder, acme)
	if got := holding(t, folder); len(got) == 0 {
		t.Fatal("no file has the word, want it planted")
	}
	for _, args := range [][]string{
		{"--company", acme, "--name", word}, {"--company", acme, "--name", "Beta", "--without-request"}, {"--company", "unknown", "--without-request"},
	} {
		if _, err := run(append([]string{"company", "erase"}, args...)...); err == nil {
			t.Errorf("%q: no error, want one", args)
		}
	}
	var receipt erasure.Receipt
	errtest.Must(t, json.Unmarshal([]byte(must("company", "erase", "--company", acme, "--name", word, "--without-request")), &receipt))
	if receipt.ErasedAt == nil {
		t.Errorf("receipt %+v, want the time of the end", receipt)
	}
	if got := holding(t, folder); len(got) > 0 {
		t.Errorf("%q hold words of the erased company, want no file to", got)
	}
	var shown erasure.Receipt
	errtest.Must(t, json.Unmarshal([]byte(must("company", "show", "--company", acme)), &shown))
	if shown.CompanyID != acme {
		t.Errorf("the erased company shows %+v, want its receipt", shown)
	}
	must("company", "erase", "--company", acme, "--name", word)
	if out := must("company", "show", "--company", beta); !strings.Contains(out, "Beta") {
		t.Errorf("the other company shows %s, want it unchanged", out)
	}
}

// plant stores the word in items of every kind, changes them, and removes some.
func plant(t *testing.T, folder, companyID string) {
	t.Helper()
	e, err := process.OpenEmbedded(t.Context(), folder, false, time.Now)
	errtest.Must(t, err)
	defer func() { errtest.Must(t, e.Close()) }()
	c := store.For(e.Store, companyID)
	for _, k := range export.Kinds() {
		key := "KIND#" + word + "#" + k.Entity
		for version := range int64(3) {
			errtest.Must(t, c.Commit(t.Context(), c.Save(key, k.Entity, version, map[string]string{"title": strings.Repeat(word+" ", 1+int(version)*2000)})))
		}
		if len(k.Entity)%2 == 0 {
			errtest.Must(t, c.Commit(t.Context(), c.Delete(key, k.Entity, 3)))
		}
	}
	errtest.Must(t, c.Commit(t.Context(), c.Timer(time.Now().Add(30*24*time.Hour), "certification-expiry", "webhook-"+word+"@1")))
	_, err = e.Vault.Seal(t.Context(), companyID, "label", []byte(word))
	errtest.Must(t, err)
}

// holding returns the files that hold the word.
func holding(t *testing.T, folder string) (files []string) {
	t.Helper()
	errtest.Must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(content), bytes.ToLower([]byte(word))) {
			files = append(files, filepath.Base(path))
		}
		return err
	}))
	return files
}
