package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/export"
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
