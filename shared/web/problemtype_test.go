package web_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
)

// TestRegisterProblemTypes reads the explanation of a problem under the problem's own type.
func TestRegisterProblemTypes(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	web.RegisterProblemTypes(h.API(), "service")
	p := h.Do("GET", "/problems/nothing", "", nil).WantProblem(404, "not-found")
	var got web.ProblemType
	h.Do("GET", p.Type, "", nil).Want(200).JSON(&got)
	want := web.ProblemType{
		Type: p.Type, Title: p.Title, Status: p.Status, Meaning: "There is no such resource, or it belongs to another company.",
		Remedy: "Check the path and the ids.", Detail: "webhook is not configured",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("explanation differs (-want +got):\n%s", diff)
	}
}
