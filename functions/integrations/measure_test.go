package integrations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/integrations"
	"orgops/shared/domain/policy"
	"orgops/shared/testkit/errtest"
)

// shop serves two lists: customers, and sales in pages of two.
type shop struct {
	*httptest.Server

	sales  int
	refuse int // status of each page but the first; 0: none
	asked  []string
}

func openShop(t *testing.T, sales int) *shop {
	t.Helper()
	s := &shop{sales: sales}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.RequestURI())
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cr3t":
			w.WriteHeader(http.StatusUnauthorized)
		case from > 0 && s.refuse > 0:
			w.WriteHeader(s.refuse)
		default:
			var rows []string
			for n := from; n < min(from+2, s.sales); n++ {
				rows = append(rows, fmt.Sprintf(`{"id":%d,"paid":%d.10,"by":"s3cr3t"}`, n, n))
			}
			next := "null"
			if from+2 < s.sales {
				next = strconv.Itoa(from + 2)
			}
			fmt.Fprintf(w, `{"data":[%s],"next":%s}`, strings.Join(rows, ","), next)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// sold stores a manifest of a shop's lists, and configures an integration with it.
func (s *service) sold(at *shop) {
	s.t.Helper()
	list := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"request":{"path":"/%[1]s"},"records":"/data","paging":{"type":"cursor","pointer":"/next","parameter":"after"},
			"item":{"target":"memory","kind":"row","id":"/id","title":"/id"}}`, name)
	}
	manifest := fmt.Sprintf(`{"kind":"shop","title":"Shop","description":"Sales.","base":%q,"auth":{"type":"bearer"},"streams":[%s,%s]}`, at.URL, list("customers"), list("sales"))
	s.Do("PUT", "/companies/"+s.A.ID+"/connectors/shop", s.A.Token, manifest).Want(200)
	s.configured("shop", map[string]any{}, 201)
}

// TestPreviewMeasure reads one list alone, to its end, and tells the value without storing anything.
func TestPreviewMeasure(t *testing.T) {
	t.Parallel()
	s, at := setup(t), openShop(t, 5)
	s.sold(at)
	source := func(pointer, aggregate string) map[string]any {
		return map[string]any{"stream": "sales", "pointer": pointer, "aggregate": aggregate}
	}
	preview := func(body any) (p integrations.MeasurePreview) {
		s.t.Helper()
		s.do("POST", "/shop/measure/preview", body).Want(200).JSON(&p)
		return p
	}
	s.do("POST", "/shop/measure/preview", source("/paid", "sum")).WantProblem(409, "conflict") // no credentials
	s.do("PUT", "/shop/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
	before := s.get("shop").Version

	const first = `{"id":0,"paid":0.10,"by":"…"}`
	want := integrations.MeasurePreview{Value: "10.5", Complete: true, Records: 5, Values: 5, Record: first, Warnings: []string{}}
	if diff := cmp.Diff(want, preview(source("/paid", "sum"))); diff != "" {
		t.Errorf("the sum differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/sales", "/sales?after=2", "/sales?after=4"}, at.asked); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	cents := source("/paid", "max")
	cents["factor"] = "100"
	want.Value = "410"
	if diff := cmp.Diff(want, preview(cents)); diff != "" {
		t.Errorf("the greatest in cents differs (-want +got):\n%s", diff)
	}
	want.Value, want.Values, want.Problem = "", 0, "no record of sales has a number at /amount"
	if diff := cmp.Diff(want, preview(source("/amount", "sum"))); diff != "" {
		t.Errorf("of a field that is not there, it differs (-want +got):\n%s", diff)
	}

	at.refuse = http.StatusInternalServerError
	want = integrations.MeasurePreview{Value: "1.2", Records: 2, Values: 2, Record: first, Warnings: []string{}, Problem: "Shop answers 500"}
	got := preview(source("/paid", "sum"))
	if !strings.HasPrefix(got.Problem, want.Problem) {
		t.Errorf("problem %q, want one that begins with %q", got.Problem, want.Problem)
	}
	if got.Problem = want.Problem; cmp.Diff(want, got) != "" {
		t.Errorf("of a list that breaks off, it differs (-want +got):\n%s", cmp.Diff(want, got))
	}
	at.refuse = http.StatusTooManyRequests
	if got := preview(source("/paid", "count")).Problem; !strings.HasPrefix(got, "the provider asks to wait until ") {
		t.Errorf("problem %q, want the provider's wait", got)
	}

	at.refuse, at.sales = 0, 100
	got = preview(source("", "count"))
	want = integrations.MeasurePreview{Value: "40", Records: 40, Values: 40, Record: first, Warnings: []string{}, Problem: "the list has more than 20 pages; a sync reads all of them"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of a long list, it differs (-want +got):\n%s", diff)
	}
	if got := s.get("shop").Version; got != before {
		t.Errorf("the integration has version %d, want %d", got, before)
	}
	s.wantNone("MEMORY#")
}

// TestPreviewMeasure_Refused names what is wrong, as the source of a goal does.
func TestPreviewMeasure_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sold(openShop(t, 1))
	s.do("PUT", "/shop/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	for _, tt := range []struct{ body, pointer, says string }{
		{`{"stream":"gifts","pointer":"/paid","aggregate":"sum"}`, "/stream", "shop has no such list; it has customers, sales"},
		{`{"stream":"sales","pointer":"paid","aggregate":"sum"}`, "/pointer", "JSON Pointer"},
		{`{"stream":"sales","pointer":"/paid","aggregate":"sum","factor":"0"}`, "/factor", "other than 0"},
		{`{"stream":"sales","pointer":"/paid","aggregate":"median"}`, "/aggregate", "one of"},
	} {
		p := s.do("POST", "/shop/measure/preview", tt.body).WantProblem(422, "invalid")
		if len(p.Errors) != 1 {
			t.Fatalf("%s: errors %+v, want one", tt.body, p.Errors)
		}
		if p.Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: a problem at %s, want one at %s", tt.body, p.Errors[0].Pointer, tt.pointer)
		}
		if !strings.Contains(p.Errors[0].Detail, tt.says) {
			t.Errorf("%s: problem %q, want one with %q", tt.body, p.Errors[0].Detail, tt.says)
		}
	}
	ask := map[string]any{"stream": "sales", "pointer": "", "aggregate": "count"}
	s.do("POST", "/feed/measure/preview", ask).WantProblem(409, "conflict")
	s.do("POST", "/shop-other/measure/preview", ask).WantProblem(404, "not-found")
	s.Do("POST", "/companies/"+s.B.ID+"/integrations/shop/measure/preview", s.A.Token, ask).WantProblem(403, "forbidden")
}

// TestPreviewMeasure_Policy fetches nothing from a host that the policies refuse.
func TestPreviewMeasure_Policy(t *testing.T) {
	t.Parallel()
	s, at := setup(t), openShop(t, 1)
	s.sold(at)
	s.do("PUT", "/shop/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
	c := s.company()
	errtest.Must(t, c.Commit(t.Context(), c.Create(policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{
		{ID: "own", Mode: policy.Enforce, Text: `forbid (principal, action == Action::"sync.fetch", resource) when { resource.own };`},
	}})))
	s.clock.Advance(time.Minute) // the engine keeps the policies for a moment
	var p integrations.MeasurePreview
	s.do("POST", "/shop/measure/preview", map[string]any{"stream": "sales", "pointer": "", "aggregate": "count"}).Want(200).JSON(&p)
	if want := "the policies refuse a fetch from 127.0.0.1: "; !strings.HasPrefix(p.Problem, want) {
		t.Errorf("problem %q, want one that begins with %q", p.Problem, want)
	}
	if len(at.asked) > 0 {
		t.Errorf("requests %q, want none", at.asked)
	}
}
