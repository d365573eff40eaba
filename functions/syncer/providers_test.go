package syncer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/github"
	"orgops/shared/provider/httplist"
	"orgops/shared/provider/shelf"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/githubtest"
	"orgops/shared/testkit/lineartest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/outbound"
)

// connect configures and certifies a connector in place of "paged".
func (r *running) connect(c connector.Connector, config string, credentials map[string]string) {
	r.T.Helper()
	r.Connectors, r.named = connector.New(c), c.Kind()
	ports, now := c.Ports(json.RawMessage(config)), r.Clock.Now()
	r.Put("a", integration.Key(r.named), integration.Entity, integration.Integration{
		Provider: r.named, Kind: r.named, State: integration.Certified, Enabled: true, Permissions: ports, Config: json.RawMessage(config),
		Certification: &integration.Certification{PassedAt: now, ExpiresAt: now.Add(integration.CertifiedFor), Ports: ports},
	})
	company := store.For(r.Harness.Store, "a")
	op, err := integration.SaveSecrets(r.T.Context(), company, r.Syncer.Vault, integration.Integration{Provider: r.named}, 0, integration.Secrets{Values: credentials})
	errtest.Must(r.T, err)
	errtest.Must(r.T, company.Commit(r.T.Context(), op))
}

// fake stands for a provider's server: it replaces the items by those of some numbers, which make their ids.
type fake func(numbers ...int)

func fakeGitHub(t *testing.T, r *running) fake {
	t.Helper()
	server := githubtest.New(t, r.Clock.Now)
	r.connect(github.New(r.Client, r.Clock.Now), fmt.Sprintf(`{"repository":%q,"baseUrl":%q}`, githubtest.Repository, server.URL), map[string]string{"token": githubtest.Token})
	changed := r.Clock.Now()
	return replacing(func(n int) { server.Put("issues", githubtest.Issue(n, fmt.Sprint("Item ", n), changed)) },
		func(n int) { server.Delete("issues", githubtest.Item{"number": n}) })
}

// leading sends every request to an address, because the connector's own is fixed.
type leading string

// RoundTrip implements http.RoundTripper.
func (l leading) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(string(l))
	if err != nil {
		return nil, err
	}
	other := r.Clone(r.Context())
	other.URL, other.Host = to, to.Host
	return http.DefaultTransport.RoundTrip(other)
}

func fakeLinear(t *testing.T, r *running) fake {
	t.Helper()
	server := lineartest.New(t)
	client := outbound.New(outbound.Options{Transport: leading(server.URL)})
	for _, c := range shelf.All(client, r.Clock.Now) {
		if c.Kind() == "linear" {
			r.connect(c, `{}`, map[string]string{"apiKey": lineartest.Key})
		}
	}
	changed := r.Clock.Now()
	return replacing(func(n int) { server.Put("issues", lineartest.Issue(n, fmt.Sprint("Item ", n), changed)) },
		func(n int) { server.Delete("issues", lineartest.Issue(n, "", changed)["id"].(string)) })
}

func fakeList(t *testing.T, r *running) fake {
	t.Helper()
	var mu sync.Mutex
	var held []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		rows := []map[string]any{}
		for _, n := range held {
			rows = append(rows, map[string]any{"id": n, "title": fmt.Sprint("Item ", n)})
		}
		_ = json.NewEncoder(w).Encode(rows)
	}))
	t.Cleanup(server.Close)
	config := fmt.Sprintf(`{"url":%q,"itemsPath":"","idPath":"/id","titlePath":"/title","target":"memory"}`, server.URL)
	r.connect(httplist.New(r.Client, r.Clock.Now), config, nil)
	return func(numbers ...int) {
		mu.Lock()
		defer mu.Unlock()
		held = numbers
	}
}

// replacing makes a fake from what puts and what removes one item.
func replacing(put, remove func(n int)) fake {
	var held []int
	return func(numbers ...int) {
		for _, n := range held {
			if !slices.Contains(numbers, n) {
				remove(n)
			}
		}
		for _, n := range numbers {
			if !slices.Contains(held, n) {
				put(n)
			}
		}
		held = numbers
	}
}

// TestSyncer_Providers syncs with the servers of three providers. An item that was deleted there is removed by the next full
// run, and an item whose id has changed is another item.
func TestSyncer_Providers(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*testing.T, *running) fake{"github": fakeGitHub, "linear": fakeLinear, "http": fakeList} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			hold := serve(t, r)
			hold(1, 2, 3, 4)
			r.sync(syncrun.Live, full)
			r.wantTitles(1, 2, 3, 4)
			r.Clock.Advance(time.Minute)
			hold(1, 3, 5) // 2 is deleted, and 4 has become 5
			r.sync(syncrun.Live, full)
			r.wantTitles(1, 3, 5)
		})
	}
}

// wantTitles checks which items the company has.
func (r *running) wantTitles(numbers ...int) {
	r.T.Helper()
	var got, want []string
	for _, n := range numbers {
		want = append(want, fmt.Sprint("Item ", n))
	}
	for _, m := range worktest.All[memory.Memory](r.Harness, "a", memory.Prefix) {
		got = append(got, m.Title)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		r.T.Errorf("items differ (-want +got):\n%s", diff)
	}
}
