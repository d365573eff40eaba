package admin_test

import (
	"bytes"
	"testing"
	"time"

	"orgops/local/command/admin"
	"orgops/local/process"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/identity/totp"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestFactors removes the second factors of a person who has lost them, and records it in each company of the person. The person
// gets a notice.
func TestFactors(t *testing.T) {
	t.Parallel()
	const email = "ada@example.com"
	folder := t.TempDir()
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := admin.Run(t.Context(), admin.Env{Config: config.Config{Data: folder}, Getenv: func(string) string { return "" }, Out: &out}, args)
		return out.String(), err
	}
	for _, name := range []string{"Acme", "Beta"} {
		_, err := run("company", "create", "--name", name, "--email", email)
		errtest.Must(t, err)
	}
	if out, err := run("user", "factors", "--email", email); err == nil {
		t.Errorf("without a factor: output = %s, want an error", out)
	}
	account := func(e *process.Embedded) company.Account {
		all, err := company.Accounts(t.Context(), e.Store, email)
		errtest.Must(t, err)
		return all[0]
	}
	e, err := process.OpenEmbedded(t.Context(), folder, false, time.Now)
	errtest.Must(t, err)
	a, now := account(e), time.Now()
	f, key, err := a.Enrol(t.Context(), e.Vault, "Phone", now)
	errtest.Must(t, err)
	_, _, _, err = a.Confirm(f.ID, company.ByCode(t.Context(), e.Vault, totp.At(key, now), now), now)
	errtest.Must(t, err)
	errtest.Must(t, e.Store.Commit(t.Context(), a.Writes()...))
	errtest.Must(t, e.Close())

	out, err := run("user", "factors", "--email", email)
	errtest.Must(t, err)
	if want := `{"email":"ada@example.com","removed":1}` + "\n"; out != want {
		t.Errorf("output = %s, want %s", out, want)
	}
	e, err = process.OpenEmbedded(t.Context(), folder, false, time.Now)
	errtest.Must(t, err)
	defer e.Close()
	if got := account(e).Kinds(); len(got) > 0 {
		t.Errorf("kinds of factors that are left = %v, want none", got)
	}
	told := 0
	for _, m := range account(e).Members {
		records := 0
		for item, err := range store.For(e.Store, m.CompanyID).Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
			errtest.Must(t, err)
			var n notice.Stored
			errtest.Must(t, item.Decode(&n))
			if n.Name == "factor-removed" && n.UserID == m.UserID {
				told++
			}
		}
		for item, err := range store.For(e.Store, m.CompanyID).Items(t.Context(), store.Query{Prefix: audit.Prefix}) {
			errtest.Must(t, err)
			var r audit.Record
			errtest.Must(t, item.Decode(&r))
			if r.Operation == "remove-factors" && r.Resource == "operations/"+user.Entity+"s/"+m.UserID {
				records++
			}
		}
		if records != 1 {
			t.Errorf("%d records of the removal in %s, want 1", records, m.CompanyID)
		}
	}
	if told != 1 {
		t.Errorf("%d notices of the removal, want 1", told)
	}
}
