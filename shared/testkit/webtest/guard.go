package webtest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/web"
)

// GuardAll checks every registered operation that is not public. It must answer 401 without a token and 403 without its
// scope. With another company's token it must answer 403, in the same bytes as for a company that does not exist. With a token
// that is bound to another integration it must answer 403, unless it is marked by web.Bound. An operation outside of a
// company's path needs any token.
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
	if !strings.HasPrefix(op.Path, "/companies/") { // see web.OwnToken
		return
	}
	foreign := h.Do(op.Method, own, h.B.Token, nil)
	foreign.WantProblem(403, "forbidden")
	absent := h.Do(op.Method, unknown, h.B.Token, nil)
	absent.WantProblem(403, "forbidden")
	if !bytes.Equal(anonymous(foreign.Body), anonymous(absent.Body)) {
		h.t.Errorf("different answers for a foreign and an unknown company:\n%s\n%s", foreign.Body, absent.Body)
	}
	needed := op.Security[0]["bearer"]
	rest := slices.DeleteFunc(user.Founder.Scopes(), func(s string) bool {
		return slices.ContainsFunc(op.Security, func(one map[string][]string) bool { return slices.Contains(one["bearer"], s) })
	})
	if !web.IsBound(op) {
		h.Do(op.Method, own, h.BoundToken(h.A.ID, "another"), nil).WantProblem(403, "forbidden")
	}
	refused := h.Do(op.Method, own, h.Token(h.A.ID, rest...), nil)
	refused.WantProblem(403, "insufficient-scope")
	if got, want := refused.Header.Get("WWW-Authenticate"), `scope="`+strings.Join(needed, " ")+`"`; !strings.Contains(got, want) {
		h.t.Errorf("WWW-Authenticate = %q, want one with %q", got, want)
	}
}

var (
	param    = regexp.MustCompile(`\{[^}]+\}`)
	instance = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)
)

// fill replaces a path's parameters by ids.
func fill(path, companyID string) string {
	path = strings.Replace(path, "{companyId}", companyID, 1)
	return param.ReplaceAllString(path, "some-id")
}

// anonymous removes the request id from a problem, because it differs in every answer.
func anonymous(body []byte) []byte { return instance.ReplaceAll(body, nil) }
