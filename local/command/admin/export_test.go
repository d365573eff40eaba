package admin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/local/process"
	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestCompany_Export prints the items of one company, and none of its logins.
func TestCompany_Export(t *testing.T) {
	t.Parallel()
	run := laptop(t)
	create := func(name, email string) (companyID string) {
		out, _, err := run("", "company", "create", "--name", name, "--email", email)
		errtest.Must(t, err)
		var made struct{ CompanyID string }
		errtest.Must(t, json.Unmarshal([]byte(out), &made))
		return made.CompanyID
	}
	acme := create("Acme", "ada@acme.test")
	create("Beta", "bob@beta.test")
	out, _, err := run("", "company", "export", "--company", acme)
	errtest.Must(t, err)
	var entities []string
	for text := range strings.Lines(out) {
		var line export.Line
		errtest.Must(t, json.Unmarshal([]byte(text), &line))
		if line.Entity != "" { // the end of a page
			entities = append(entities, line.Entity)
		}
	}
	if diff := cmp.Diff([]string{"audit", "company", "user"}, entities); diff != "" {
		t.Errorf("entities differ (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{}, {"--company", "unknown"}} {
		if _, _, err := run("", append([]string{"company", "export"}, args...)...); err == nil {
			t.Errorf("%q: no error, want one", args)
		}
	}
}

// TestCompany_Export_File goes on with an export that was interrupted, and leaves a file alone that is no part of one.
func TestCompany_Export_File(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.with(t, false, func(e *process.Embedded) {
		acme := store.For(e.Store, "acme")
		errtest.Must(t, acme.Commit(t.Context(), acme.Create(company.Key, company.Entity, company.Company{ID: "acme", Name: "Acme"})))
		for n := range 20 { // more than two pages
			body := map[string]string{"id": fmt.Sprint(n), "body": strings.Repeat("x", 300<<10)}
			errtest.Must(t, acme.Commit(t.Context(), acme.Create(fmt.Sprintf("MEMORY#%02d", n), memory.Entity, body)))
		}
	})
	want, err := f.run("company", "export", "--company", "acme")
	errtest.Must(t, err)
	file := filepath.Join(t.TempDir(), "acme.jsonl")
	for _, size := range []int{0, 100, 3 << 20, 5 << 20} {
		errtest.Must(t, os.WriteFile(file, []byte(want[:size]), 0o600))
		_, err := f.run("company", "export", "--company", "acme", "--file", file)
		errtest.Must(t, err)
		got, err := os.ReadFile(file)
		errtest.Must(t, err)
		if string(got) != want {
			t.Errorf("after %d bytes: the file has %d bytes, want the %d of the export", size, len(got), len(want))
		}
	}
	for _, other := range []string{want, "a file of something else"} {
		errtest.Must(t, os.WriteFile(file, []byte(other), 0o600))
		if _, err := f.run("company", "export", "--company", "acme", "--file", file); err == nil {
			t.Errorf("a file of %d bytes: no error, want one", len(other))
		}
		if got, _ := os.ReadFile(file); string(got) != other {
			t.Errorf("the file of %d bytes has changed", len(other))
		}
	}
}
