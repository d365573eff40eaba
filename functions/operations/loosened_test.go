package operations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/audit"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestPolicies_Loosened tells on the timeline and in the audit record what a replacement of the policies loosens, and nothing of one
// that loosens nothing.
func TestPolicies_Loosened(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, two, three := enforced("closing", closing), enforced("frozen", frozen), enforced("notes", `forbid (principal, action == Action::"timeline.note", resource);`)
	d.govern(one, two, three)
	d.govern(one, two, three, enforced("more", `forbid (principal, action == Action::"memory.delete", resource);`))
	logOnly := enforced("frozen", frozen)
	logOnly["mode"] = "log-only"
	d.govern(logOnly, enforced("notes", `forbid (principal, action == Action::"timeline.note", resource) when { resource.title == "x" };`),
		enforced("more", `forbid (principal, action == Action::"memory.delete", resource);`))
	const words = "removed closing; log-only frozen; changed notes"
	var resources []string
	if diff := cmp.Diff([]string{"Policies were loosened: " + words}, titles(t, d.c)); diff != "" {
		t.Errorf("titles differ (-want +got):\n%s", diff)
	}
	records, err := d.c.Query(t.Context(), store.Query{Prefix: audit.Prefix})
	errtest.Must(t, err)
	for _, item := range records.Items {
		var r audit.Record
		errtest.Must(t, item.Decode(&r))
		if strings.Contains(r.Resource, "#") {
			resources = append(resources, r.Resource)
		}
	}
	if diff := cmp.Diff([]string{"operations/policies#" + words}, resources); diff != "" {
		t.Errorf("resources differ (-want +got):\n%s", diff)
	}
}
