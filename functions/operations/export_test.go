package operations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/export"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/user"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
)

// TestExport_Scopes refuses a token that lacks any of the scopes to read what the export has.
func TestExport_Scopes(t *testing.T) {
	t.Parallel()
	h := setup(t)
	needs := append([]string{user.ScopeOperationsWrite}, user.Member.Scopes()...)
	h.Do("GET", path(h, "/export"), h.Token(h.A.ID, needs...), nil).Want(200)
	for n, scope := range needs {
		lacks := slices.Delete(slices.Clone(needs), n, n+1)
		refused := h.Do("GET", path(h, "/export"), h.Token(h.A.ID, lacks...), nil)
		refused.WantProblem(403, "insufficient-scope")
		if got := refused.Header.Get("WWW-Authenticate"); !strings.Contains(got, scope) {
			t.Errorf("without %s: WWW-Authenticate = %q, want the scope in it", scope, got)
		}
	}
	h.Do("GET", path(h, "/export"), h.Token(h.A.ID, user.Operator.Scopes()...), nil).WantProblem(403, "insufficient-scope")
}

// TestExport follows the links through an export that takes several pages. It has everything but secrets, of this company alone.
func TestExport(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	c.endpoint("webhook")
	for n := range 12 {
		key := fmt.Sprintf("TIMELINE#%02d", n)
		body := json.RawMessage(`{"title":"` + strings.Repeat("x", 300<<10) + `"}`)
		errtest.Must(t, c.items().Commit(t.Context(), c.items().Create(key, "timeline", body)))
	}
	c.deliver("webhook", "memory.created", noon(), delivery.Dead)
	errtest.Must(t, c.items().Commit(t.Context(), c.items().Create(integration.CredentialKey("webhook"), integration.CredentialEntity, json.RawMessage(`{"sealed":"planted"}`))))
	beta := store.For(c.Store, c.B.ID)
	errtest.Must(t, beta.Commit(t.Context(), beta.Create("GOAL#1", "goal", json.RawMessage(`{"title":"theirs"}`))))

	counts, pages := map[string]int{}, 0
	for next := path(c.Harness, "/export"); next != ""; pages++ {
		answer := c.Do("GET", next, c.A.Token, nil).Want(200)
		if got, want := answer.Header.Get("Content-Type"), "application/jsonl"; got != want {
			t.Errorf("Content-Type %q, want %q", got, want)
		}
		for _, never := range []string{"planted", "theirs", "password"} {
			if bytes.Contains(answer.Body, []byte(never)) {
				t.Errorf("a page has %q, want it left out", never)
			}
		}
		for _, text := range bytes.Split(bytes.TrimSpace(answer.Body), []byte("\n")) {
			var line export.Line
			errtest.Must(t, json.Unmarshal(text, &line))
			counts[line.Entity]++
		}
		link, _, _ := strings.Cut(answer.Header.Get("Link"), ">")
		next = strings.TrimPrefix(link, "<")
	}
	if pages != 2 {
		t.Errorf("%d pages, want 2", pages)
	}
	for entity, want := range map[string]int{"company": 1, "user": 1, "integration": 1, "delivery": 1, "timeline": 12} {
		if counts[entity] != want {
			t.Errorf("%d items of %s, want %d", counts[entity], entity, want)
		}
	}
	c.Do("GET", path(c.Harness, "/export?cursor=x"), c.A.Token, nil).WantProblem(422, "invalid")
}

// The audit log tells of the first and of the last page. A store that does not take a record fails no page, and has it when it does.
func TestExport_Recorded(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	st := &flaky{Store: c.Store}
	c.Server = web.New(web.Options{
		Title: "test", Verifier: c.Verifier, Vault: c.Vault, Audit: webtest.Record, Logger: slog.New(slog.DiscardHandler),
		Tenant: func(companyID string) store.Company { return store.For(st, companyID) },
	})
	operations.Register(c.API(), operations.Deps{Store: st, Vault: c.Vault, Checker: policycheck.New(), Now: noon})
	for n := range 16 {
		body := json.RawMessage(`{"title":"` + strings.Repeat("x", 300<<10) + `"}`)
		errtest.Must(t, c.items().Commit(t.Context(), c.items().Create(fmt.Sprintf("TIMELINE#%02d", n), "timeline", body)))
	}
	pages := 0
	for next := path(c.Harness, "/export"); next != ""; pages++ {
		st.fails.Store(true)
		link, _, _ := strings.Cut(c.Do("GET", next, c.A.Token, nil).Want(200).Header.Get("Link"), ">")
		next = strings.TrimPrefix(link, "<")
	}
	if pages != 3 {
		t.Fatalf("%d pages, want 3", pages)
	}
	var got []string
	for item, err := range c.items().Items(t.Context(), store.Query{Prefix: audit.Prefix}) {
		errtest.Must(t, err)
		var r audit.Record
		errtest.Must(t, item.Decode(&r))
		got = append(got, r.Operation+" "+r.Resource+" "+r.Outcome+" "+r.Actor.UserID)
	}
	by := " success " + c.A.UserID
	if diff := cmp.Diff([]string{"export-company operations/export" + by, "export-company operations/export#complete" + by}, got); diff != "" {
		t.Errorf("audit records differ (-want +got):\n%s", diff)
	}
}

// flaky is a store whose next write fails.
type flaky struct {
	store.Store
	fails atomic.Bool
}

func (s *flaky) Commit(ctx context.Context, ops ...store.Op) error {
	if s.fails.Swap(false) {
		return store.ErrUnavailable
	}
	return s.Store.Commit(ctx, ops...)
}
