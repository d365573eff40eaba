package upgrade

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/command/apiclient"
	"orgops/local/suite/servicetest"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/identity/password"
	"orgops/shared/insight/rebuild"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var former = flag.String("former", "", "the program of the release before, which writes the fixture")

// TestFormer_Write writes the fixture, if the program of the release before is given.
func TestFormer_Write(t *testing.T) {
	if *former != "" {
		pack(t, written(t, *former))
	}
}

// opened serves the data folder of the release before with today's code.
func opened(t *testing.T) *servicetest.Service {
	t.Helper()
	folder := unpack(t)
	return servicetest.StartWith(t, func(c *config.Config) { c.Data = folder })
}

// tenants returns the ids of a store's companies.
func tenants(t *testing.T, st store.Store) []string {
	t.Helper()
	var all []string
	for item, err := range company.Registered(t.Context(), st) {
		errtest.Must(t, err)
		all = append(all, item.Key)
	}
	return all
}

// TestFormer_Opens reads what the release before stored with every operation of today, and goes on writing.
func TestFormer_Opens(t *testing.T) {
	t.Parallel()
	s := opened(t)
	client, err := apiclient.Login(t.Context(), apiclient.Account{Base: s.URL, Email: founderEmail, Password: founderPassword})
	errtest.Must(t, err)
	absent := []string{"/operations/channels/mail", "/operations/channels/slack"} // nothing is configured
	for _, path := range readable(t, s.URL) {
		err := client.Do(t.Context(), http.MethodGet, path, nil, nil)
		if err != nil && !slices.Contains(absent, path) {
			t.Errorf("GET %s: %v, want the former release's items", path, err)
		}
	}
	var memories struct {
		Items []struct {
			Title string `json:"title"`
		} `json:"items"`
	}
	errtest.Must(t, client.Do(t.Context(), http.MethodGet, "/memory", nil, &memories))
	var titles []string
	for _, m := range memories.Items {
		titles = append(titles, m.Title)
	}
	slices.Sort(titles)
	if diff := cmp.Diff([]string{"A sample", "A sample, changed", "From the feed"}, slices.Compact(titles)); diff != "" {
		t.Errorf("titles of the memories (-want +got):\n%s", diff)
	}
	readsWork(t, client)
	if err := cause(t.Context(), s.URL, "memory.updated", "goal.updated", "timeline.entry.created"); err != nil {
		t.Errorf("writing over the former release's items: %v", err)
	}
	st := s.Process.Services.Store
	out, err := rebuild.Company(t.Context(), store.For(st, tenants(t, st)[0]), time.Now, func(int) {})
	errtest.Must(t, err)
	if out.Damaged != "" {
		t.Errorf("records that cannot be decoded: %s", out.Damaged)
	}
}

// readsWork reads what the release before was about to do: deliveries that succeeded and that failed, a sync run, and an approval, which
// expires within a day.
func readsWork(t *testing.T, client *apiclient.Client) {
	t.Helper()
	for list, wanted := range map[string][]string{
		"/integrations/webhook/deliveries": {"delivered", "scheduled", "failed", "dead"}, "/memory/syncs": {"succeeded"}, "/operations/approvals": {"pending", "expired"},
	} {
		got, err := states(t.Context(), client, list)
		errtest.Must(t, err)
		for _, state := range got {
			if !slices.Contains(wanted, state) {
				t.Errorf("%s has the state %s, want one of %q", list, state, wanted)
			}
		}
		if !slices.Contains(got, wanted[0]) && !slices.Contains(got, wanted[len(wanted)-1]) {
			t.Errorf("%s has the states %q, want what the release before stored", list, got)
		}
	}
}

var parameter = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// readable returns the paths of the company's GET operations that need nothing but the company.
func readable(t *testing.T, base string) []string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/openapi.json", http.NoBody)
	errtest.Must(t, err)
	response, err := http.DefaultClient.Do(request)
	errtest.Must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	errtest.Must(t, err)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	errtest.Must(t, json.Unmarshal(text, &document))
	var all []string
	for path, operations := range document.Paths {
		below, ok := strings.CutPrefix(path, "/companies/{companyId}")
		if ok && operations["get"] != nil && !parameter.MatchString(below) {
			all = append(all, below)
		}
	}
	if len(all) < 20 {
		t.Fatalf("the document has %d paths to read: %v, want at least 20", len(all), all)
	}
	slices.Sort(all)
	return all
}

// apart lists what the release before cannot read of today's items, each with the reason why that is accepted.
var apart = func() map[string]string {
	const undeployed = "0.1.0 was deployed nowhere, so no stack is rolled back to it; the rule of two releases holds from 0.2.0 on"
	all := map[string]string{"recovery.portion is not in every item": undeployed}
	for _, path := range []string{"attempts", "createdAt", "endpoint", "event", "eventId", "made", "state"} {
		all["delivery."+path+" is not in every item"] = undeployed
	}
	return all
}()

// TestFormer_Reads compares what today's code stores with what the release before stored on the same requests. That release
// reads every path that all of its own items have. So a stored form changes in two releases: the first reads both, the second
// writes the new one.
func TestFormer_Reads(t *testing.T) {
	t.Parallel()
	was := shapes(t, opened(t).Process.Services.Store)
	s := servicetest.Start(t)
	_, err := company.Provision(t.Context(), s.Process.Services.Store, password.New(), company.New{Name: "Acme", Plan: sso.Plan, Email: founderEmail, Password: founderPassword}, time.Now())
	errtest.Must(t, err)
	errtest.Must(t, drive(t.Context(), s.URL))
	is := shapes(t, s.Process.Services.Store)
	for _, entity := range []string{
		"approval", "audit", "certification", "company", "context", "credential", "decision", "delivery", "executive", "goal", "integration",
		"mapping", "memory", "policies", "receipt", "recommendation", "recovery", "refusals", "sso", "sso-secret", "sso-try", "sync", "timeline", "user",
	} {
		if was[entity].items == 0 {
			t.Errorf("the fixture has no item of the entity %s, want one to compare", entity)
		}
	}
	unused := maps.Clone(apart)
	for _, entity := range slices.Sorted(maps.Keys(was)) {
		wrong := missing(entity, was[entity], is[entity])
		if is[entity].items == 0 {
			wrong = []string{entity + " is not stored"}
		}
		for _, w := range wrong {
			delete(unused, w)
			if apart[w] == "" {
				t.Errorf("the release before cannot read what today's code stores: %s", w)
			}
		}
	}
	for w := range unused {
		t.Errorf("%q is listed as unreadable, and it is readable; remove it from the list", w)
	}
}

// shapes returns the shapes of the items of every company, by entity.
func shapes(t *testing.T, st store.Store) map[string]shape {
	t.Helper()
	all := map[string]shape{}
	for _, id := range tenants(t, st) {
		for item, err := range store.For(st, id).Items(context.Background(), store.Query{}) {
			errtest.Must(t, err)
			if item.Entity == "trial" { // today's code stores it as soon as it opens the data of the release before
				continue
			}
			s := all[item.Entity]
			errtest.Must(t, s.add(item.Body))
			all[item.Entity] = s
		}
	}
	return all
}

// TestMissing tells a field that is gone, optional or of another kind from a new field.
func TestMissing(t *testing.T) {
	t.Parallel()
	of := func(bodies ...string) (s shape) {
		for _, b := range bodies {
			errtest.Must(t, s.add([]byte(b)))
		}
		return s
	}
	former := of(`{"id":"1","at":{"hour":1},"n":1,"list":[],"by":{}}`, `{"id":"1","at":"now","n":1,"list":[{"x":1}],"by":{"0198c5f2-7a00":{"y":1}}}`, `{"id":"2","n":1,"list":[],"by":{}}`)
	for _, tt := range []struct {
		name    string
		present shape
		want    []string
	}{
		{"a new field", of(`{"id":"1","n":2,"list":[],"by":{},"more":true}`), nil},
		{"a field is gone", of(`{"n":2,"list":[],"by":{}}`), []string{"e.id is not in every item"}},
		{"a field is optional now", of(`{"id":"1","n":2,"list":[],"by":{}}`, `{"n":2,"list":[],"by":{}}`), []string{"e.id is not in every item"}},
		{"another kind", of(`{"id":1,"n":2,"list":[],"by":{}}`), []string{"e.id is of the kind number, and was string"}},
		{"one of several kinds", of(`{"id":"1","at":{"hour":1},"n":2,"list":[],"by":{}}`), nil},
		{"another kind in a list", of(`{"id":"1","n":2,"list":[{"x":"1"}],"by":{}}`), []string{"e.list[].x is of the kind string, and was number"}},
		{"another kind below a name", of(`{"id":"1","n":2,"list":[],"by":{"0198c5f2-7b00":{"y":"1"}}}`), []string{"e.by.*.y is of the kind string, and was number"}},
	} {
		if diff := cmp.Diff(tt.want, missing("e", former, tt.present)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
