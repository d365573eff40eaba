package admin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/testkit/errtest"
)

// TestCompany_Administer suspends a company, resumes it and moves it to another plan. The company's audit has a record of each
// command that changed it, and no record of a refused command.
func TestCompany_Administer(t *testing.T) {
	t.Parallel()
	run := laptop(t)
	must := func(args ...string) string {
		t.Helper()
		out, _, err := run("", args...)
		errtest.Must(t, err)
		return out
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if _, _, err := run("", args...); !strings.Contains(errtest.Message(err), want) {
			t.Errorf("%q: err = %v, want one with %q", args, err, want)
		}
	}
	var made struct{ CompanyID string }
	errtest.Must(t, json.Unmarshal([]byte(must("company", "create", "--name", "Acme", "--email", "ada@acme.test")), &made))
	on := func(command string, more ...string) []string {
		return append([]string{"company", command, "--company", made.CompanyID}, more...)
	}
	show := func() (c company.Company) {
		t.Helper()
		errtest.Must(t, json.Unmarshal([]byte(must(on("show")...)), &c))
		return c
	}
	must(on("suspend", "--reason", "unpaid")...)
	if s := show().Suspended; s == nil {
		t.Error("the company is not suspended, want it suspended")
	} else if s.Reason != "unpaid" {
		t.Errorf("reason = %q, want unpaid", s.Reason)
	}
	refused("suspended already", on("suspend")...)
	must(on("resume")...)
	refused("not suspended", on("resume")...)
	must(on("plan", "--plan", "pro")...)
	refused("--plan: must be one of enterprise, free, pro", on("plan", "--plan", "golden")...)
	if diff := cmp.Diff("pro", show().Plan); diff != "" {
		t.Errorf("plan differs (-want +got):\n%s", diff)
	}
	must("user", "add", "--company", made.CompanyID, "--email", "mia@acme.test")
	must("user", "password", "--email", "mia@acme.test")
	refused("no such company", "company", "suspend", "--company", "unknown")
	refused("--company", "company", "show")

	var got []string
	for text := range strings.Lines(must(on("export")...)) {
		var line export.Line
		errtest.Must(t, json.Unmarshal([]byte(text), &line))
		if line.Entity != audit.Entity {
			continue
		}
		var r audit.Record
		errtest.Must(t, json.Unmarshal(line.Body, &r))
		got = append(got, r.Operation+" "+r.Outcome)
		if r.Actor.Operator == "" {
			t.Errorf("%s: no operator in the record, want the one who ran the command", r.Operation)
		}
	}
	want := []string{
		"create-company success", "suspend-company success", "resume-company success", "change-plan success", "add-user success",
		"set-password success",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
}

// TestCompany_Import moves a company to another deployment by the commands.
func TestCompany_Import(t *testing.T) {
	t.Parallel()
	from, to := laptop(t), laptop(t)
	out, _, err := from("", "company", "create", "--name", "Acme", "--email", "ada@acme.test")
	errtest.Must(t, err)
	var made struct{ CompanyID string }
	errtest.Must(t, json.Unmarshal([]byte(out), &made))
	lines, _, err := from("", "company", "export", "--company", made.CompanyID)
	errtest.Must(t, err)
	file := filepath.Join(t.TempDir(), "acme.jsonl")
	errtest.Must(t, os.WriteFile(file, []byte(lines), 0o600))
	_, told, err := to("", "company", "import", "--file", file)
	errtest.Must(t, err)
	if want := "user password --email ada@acme.test"; !strings.Contains(told, want) {
		t.Errorf("printed %q, want a text with %q", told, want)
	}
	_, _, err = to("", "user", "password", "--email", "ada@acme.test")
	errtest.Must(t, err)
	again, _, err := to("", "company", "export", "--company", made.CompanyID)
	errtest.Must(t, err)
	if !strings.Contains(again, `"import-company"`) {
		t.Errorf("export %s, want the record of the import in it", again)
	}
	for _, args := range [][]string{{}, {"--file", file}, {"--file", file + "x"}} {
		if _, _, err := to("", append([]string{"company", "import"}, args...)...); err == nil {
			t.Errorf("%q: no error, want one", args)
		}
	}
}
