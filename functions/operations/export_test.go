package operations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/export"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
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

// The founders are told of an export by a person, once a day, when its last page was read.
func TestExport_Told(t *testing.T) {
	t.Parallel()
	h := setup(t)
	c := store.For(h.Store, h.A.ID)
	for _, role := range []user.Role{user.Founder, user.Operator} {
		u := user.User{ID: id.New(), Email: string(role) + "2@acme.test", Role: role, State: user.Active, CreatedAt: noon()}
		errtest.Must(t, c.Commit(t.Context(), c.Create(user.Key(u.ID), user.Entity, u)))
	}
	for range 2 {
		h.Do("GET", path(h, "/export"), h.A.Token, nil).Want(200)
	}
	var subjects []string
	for item, err := range c.Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
		errtest.Must(t, err)
		var n notice.Stored
		errtest.Must(t, item.Decode(&n))
		subjects = append(subjects, n.Subject)
	}
	slices.Sort(subjects)
	if diff := cmp.Diff([]string{"An export of Acme is complete", "Your export of Acme is ready"}, subjects); diff != "" {
		t.Errorf("notices differ (-want +got):\n%s", diff)
	}
}
