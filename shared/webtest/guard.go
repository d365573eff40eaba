package webtest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/id"
	"orgops/shared/user"
)

// GuardAll proves of every operation registered so far that is not public: without a token it answers 401; with the
// other company's token 403, in the same bytes as for a company that does not exist; without its scope 403 too.
func GuardAll(t *testing.T, h *Harness) {
	t.Helper()
	guarded := 0
	for _, op := range h.Server.Operations() {
		if len(op.Security) == 0 {
			continue
		}
		guarded++
		t.Run(op.OperationID, func(t *testing.T) { h.In(t).guard(op) })
	}
	if guarded == 0 {
		t.Error("no guarded operation is registered")
	}
}

func (h *Harness) guard(op *huma.Operation) {
	own, unknown := fill(op.Path, h.A.ID), fill(op.Path, id.New())
	h.Do(op.Method, own, "", nil).WantProblem(401, "unauthenticated")
	h.Do(op.Method, own, "x.y.z", nil).WantProblem(401, "unauthenticated")
	foreign := h.Do(op.Method, own, h.B.Token, nil)
	foreign.WantProblem(403, "forbidden")
	absent := h.Do(op.Method, unknown, h.B.Token, nil)
	absent.WantProblem(403, "forbidden")
	if !bytes.Equal(anonymous(foreign.Body), anonymous(absent.Body)) {
		h.t.Errorf("another's company and an unknown one can be told apart:\n%s\n%s", foreign.Body, absent.Body)
	}
	needed := op.Security[0]["bearer"]
	rest := slices.DeleteFunc(user.Founder.Scopes(), func(s string) bool { return slices.Contains(needed, s) })
	refused := h.Do(op.Method, own, h.Token(h.A.ID, rest...), nil)
	refused.WantProblem(403, "insufficient-scope")
	if got := refused.Header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="`+strings.Join(needed, " ")+`"`) {
		h.t.Errorf("WWW-Authenticate: %s", got)
	}
}

var (
	param    = regexp.MustCompile(`\{[^}]+\}`)
	instance = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)
)

// fill puts ids in the place of a path's parameters.
func fill(path, companyID string) string {
	path = strings.Replace(path, "{id}", companyID, 1)
	return param.ReplaceAllString(path, "some-id")
}

// anonymous takes the request's id out of a problem: it differs from request to request and tells nothing.
func anonymous(body []byte) []byte { return instance.ReplaceAll(body, nil) }
