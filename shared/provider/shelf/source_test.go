package shelf_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/shelf"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// leading sends every request to a server of the test, and remembers the hosts that were meant.
type leading struct {
	to    string
	hosts map[string]bool
}

// RoundTrip implements http.RoundTripper.
func (l leading) RoundTrip(r *http.Request) (*http.Response, error) {
	l.hosts[r.URL.Scheme+"://"+r.URL.Host] = true
	to, err := url.Parse(l.to)
	if err != nil {
		return nil, err
	}
	other := r.Clone(r.Context())
	other.URL.Scheme, other.URL.Host = to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(other)
}

// fetched holds what a full run of a kind has brought.
type fetched struct {
	Items []string // kind, id, title, and the number of a goal
	Asked []string // method, path with query, and body
	Host  string
}

// exchange is a request that a provider's documents describe, and its answer.
type exchange struct {
	asks, answer string
	link         string // header
}

// TestAll_sources fetches from a server of each kind, written from the provider's documents.
func TestAll_sources(t *testing.T) {
	t.Parallel()
	bearer := [2]string{"Authorization", "Bearer s3cr3t"}
	tests := map[string]struct {
		config    string
		auth      [2]string
		exchanges []exchange
		want      fetched
	}{
		"stripe": {`{}`, bearer, []exchange{
			{asks: "GET /v1/subscriptions?limit=100&status=all", answer: `{"object":"list","data":[{"id":"sub_1","object":"subscription","status":"active","customer":"cus_1","description":"Pro"}],"has_more":true}`},
			{asks: "GET /v1/subscriptions?limit=100&status=all&starting_after=sub_1", answer: `{"object":"list","data":[{"id":"sub_2","object":"subscription","status":"canceled","customer":"cus_2"}],"has_more":false}`},
			{asks: "GET /v1/invoices?limit=100", answer: `{"object":"list","data":[{"id":"in_1","object":"invoice","number":"A-1","customer_name":"Acme","status":"paid","total":4200,"currency":"eur"}],"has_more":false}`},
		}, fetched{Host: "https://api.stripe.com", Items: []string{
			"subscription sub_1: Subscription Pro: active", "subscription sub_2: Subscription sub_2: canceled", "invoice in_1: Invoice A-1 for Acme: paid",
		}}},
		"gitlab": {`{"project":"acme/app"}`, bearer, []exchange{
			{asks: "GET /api/v4/projects/acme%2Fapp/issues?order_by=created_at&per_page=100&scope=all&sort=asc", link: `<https://gitlab.com/api/v4/projects/1/issues?id=1&page=2>; rel="next"`,
				answer: `[{"id":11,"iid":1,"title":"Fix it","state":"closed","labels":[],"milestone":{"id":5},"web_url":"https://gitlab.com/acme/app/-/issues/1","updated_at":"2026-03-01T08:00:00Z"}]`},
			{asks: "GET /api/v4/projects/1/issues?id=1&page=2", answer: `[{"id":12,"iid":2,"title":" ","state":"opened","labels":["Blocked"],"milestone":null}]`},
			{asks: "GET /api/v4/projects/acme%2Fapp/milestones?per_page=100", answer: `[{"id":5,"iid":1,"title":"Beta","state":"active","due_date":"2026-06-01"}]`},
		}, fetched{Host: "https://gitlab.com", Items: []string{"issue issues/11: Fix it", "issue issues/12: Issue #2", "goal milestones/5: Beta"}}},
		"slack": {`{"channel":"C1"}`, bearer, []exchange{
			{asks: "GET /api/conversations.history?channel=C1&limit=200", answer: `{"ok":true,"messages":[{"type":"message","user":"U1","text":"Shipped","ts":"1772438400.000200"},{"type":"message","subtype":"channel_join","ts":"1772438399.000100"}],"has_more":true,"response_metadata":{"next_cursor":"bmV4dA=="}}`},
			{asks: "GET /api/conversations.history?channel=C1&limit=200&cursor=bmV4dA%3D%3D", answer: `{"ok":true,"messages":[{"type":"message","user":"U2","text":"Nice","ts":"1772438398.000300"}],"has_more":false,"response_metadata":{"next_cursor":""}}`},
		}, fetched{Host: "https://slack.com", Items: []string{"message C1/1772438400.000200: Shipped", "message C1/1772438398.000300: Nice"}}},
		"notion": {`{"dataSource":"ds1"}`, bearer, []exchange{
			{asks: `POST /v1/data_sources/ds1/query {"page_size":100}`, answer: `{"object":"list","results":[{"object":"page","id":"p1","in_trash":false,"url":"https://www.notion.so/p1","last_edited_time":"2026-03-01T08:00:00.000Z","properties":{"Name":{"type":"title","title":[{"plain_text":"Road"},{"plain_text":"map"}]},"Tags":{"type":"multi_select"}}}],"has_more":true,"next_cursor":"c2"}`},
			{asks: `POST /v1/data_sources/ds1/query {"page_size":100,"start_cursor":"c2"}`, answer: `{"object":"list","results":[{"object":"page","id":"p2","in_trash":true,"properties":{}}],"has_more":false,"next_cursor":null}`},
		}, fetched{Host: "https://api.notion.com", Items: []string{"page p1: Roadmap"}}},
		"hubspot": {`{}`, bearer, []exchange{
			{asks: "GET /crm/v3/objects/deals?limit=100&properties=dealname%2Cdealstage%2Camount%2Cclosedate%2Cdeal_currency_code", answer: `{"results":[{"id":"7","properties":{"dealname":"Acme","dealstage":"closedwon","amount":"1200"},"updatedAt":"2026-03-01T08:00:00Z"}],"paging":{"next":{"after":"8","link":"https://api.hubapi.com/x"}}}`},
			{asks: "GET /crm/v3/objects/deals?limit=100&properties=dealname%2Cdealstage%2Camount%2Cclosedate%2Cdeal_currency_code&after=8", answer: `{"results":[]}`},
		}, fetched{Host: "https://api.hubapi.com", Items: []string{"deal deals/7: Acme: closedwon"}}},
		"sheets": {`{"spreadsheet":"s1","range":"Goals!A2:F50"}`, [2]string{}, []exchange{
			{asks: "GET /v4/spreadsheets/s1/values/Goals%21A2:F50?dateTimeRenderOption=FORMATTED_STRING&majorDimension=ROWS&valueRenderOption=UNFORMATTED_VALUE&key=s3cr3t",
				answer: `{"range":"Goals!A2:F50","majorDimension":"ROWS","values":[["MRR",41200.5,50000,"EUR","","2026-12-31"],[],["Churn",4,"2","%","down"],["No target",3]]}`},
		}, fetched{Host: "https://sheets.googleapis.com", Items: []string{"goal MRR: MRR 41200.5 of 50000 EUR up", "goal Churn: Churn 4 of 2 % down"}}},
		"jira": {`{"site":"acme.atlassian.net","project":"ENG"}`, [2]string{"Authorization", "Basic YWRhQGV4YW1wbGUuY29tOnMzY3IzdA=="}, []exchange{
			{asks: "GET /rest/api/3/search/jql?fields=summary%2Cstatus%2Cupdated&jql=project+%3D+%22ENG%22+ORDER+BY+created+ASC&maxResults=100",
				answer: `{"issues":[{"id":"10001","key":"ENG-1","fields":{"summary":"Fix it","status":{"name":"Done"},"updated":"2026-03-01T08:00:00.000+0100"}}],"nextPageToken":"t2"}`},
			{asks: "GET /rest/api/3/search/jql?fields=summary%2Cstatus%2Cupdated&jql=project+%3D+%22ENG%22+ORDER+BY+created+ASC&maxResults=100&nextPageToken=t2", answer: `{"issues":[{"id":"10002","key":"ENG-2","fields":{}}],"isLast":true}`},
		}, fetched{Host: "https://acme.atlassian.net", Items: []string{"issue 10001: ENG-1: Fix it (Done)", "issue 10002: ENG-2:  (no status)"}}},
		"plausible": {`{"site":"example.com","target":"10000"}`, bearer, []exchange{
			{asks: `POST /api/v2/query {"date_range":"30d","metrics":["visitors"],"site_id":"example.com"}`, answer: `{"results":[{"metrics":[4321],"dimensions":[]}],"meta":{},"query":{}}`},
		}, fetched{Host: "https://plausible.io", Items: []string{"metric visitors: 4321 visitors of example.com in 30 days", "goal visitors: Visitors of example.com in 30 days 4321 of 10000 visitors up"}}},
		"linear": {`{"team":"ENG"}`, [2]string{"Authorization", "s3cr3t"}, []exchange{
			{asks: `POST /graphql {"query":"query($first: Int!, $after: String, $filter: IssueFilter, $team: TeamFilter) { teams(first: 1, filter: $team) { nodes { id } } issues(first: $first, after: $after, filter: $filter, includeArchived: true) { nodes { id identifier title description url updatedAt trashed } pageInfo { hasNextPage endCursor } } }","variables":{"filter":{"team":{"key":{"eq":"ENG"}}},"first":25,"team":{"key":{"eq":"ENG"}}}}`,
				answer: `{"data":{"teams":{"nodes":[{"id":"t1"}]},"issues":{"nodes":[{"id":"i1","identifier":"ENG-1","title":"Fix it","trashed":null}],"pageInfo":{"hasNextPage":true,"endCursor":"c1"}}}}`},
			{asks: `POST /graphql {"query":"query($first: Int!, $after: String, $filter: IssueFilter) { issues(first: $first, after: $after, filter: $filter, includeArchived: true) { nodes { id identifier title description url updatedAt trashed } pageInfo { hasNextPage endCursor } } }","variables":{"after":"c1","filter":{"team":{"id":{"eq":"t1"}}},"first":25}}`,
				answer: `{"data":{"issues":{"nodes":[{"id":"i2","identifier":"ENG-2","title":"Gone","trashed":true}],"pageInfo":{"hasNextPage":false,"endCursor":"c2"}}}}`},
			{asks: `POST /graphql {"query":"query($first: Int!, $after: String, $filter: ProjectFilter) { projects(first: $first, after: $after, filter: $filter, includeArchived: true) { nodes { id name description url progress startDate targetDate completedAt canceledAt updatedAt trashed } pageInfo { hasNextPage endCursor } } }","variables":{"filter":{"accessibleTeams":{"some":{"id":{"eq":"t1"}}}},"first":50}}`,
				answer: `{"data":{"projects":{"nodes":[{"id":"p1","name":"Beta","progress":0.25}],"pageInfo":{"hasNextPage":false,"endCursor":"c1"}}}}`},
		}, fetched{Host: "https://api.linear.app", Items: []string{"issue i1: Fix it", "goal p1: Beta"}}},
	}
	files, err := filepath.Glob("sources/*.json")
	errtest.Must(t, err)
	if len(files) != len(tests) {
		t.Errorf("%d manifests and %d servers, want a server for each", len(files), len(tests))
	}
	for kind, tt := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asks := strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
				asked = append(asked, asks)
				if got := r.Header.Get(tt.auth[0]); tt.auth[0] != "" && got != tt.auth[1] {
					t.Errorf("%s is %q, want %q", tt.auth[0], got, tt.auth[1])
				}
				for _, e := range tt.exchanges {
					if e.asks == asks {
						if e.link != "" {
							w.Header().Set("Link", e.link)
						}
						fmt.Fprint(w, e.answer)
						return
					}
				}
				w.WriteHeader(http.StatusNotFound)
			}))
			t.Cleanup(server.Close)
			for _, e := range tt.exchanges {
				tt.want.Asked = append(tt.want.Asked, e.asks)
			}
			got := fetch(t, kind, tt.config, server.URL)
			got.Asked = asked
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("a full run differs (-want +got):\n%s", diff)
			}
		})
	}
}

// fetch runs a full run of a kind, and checks its configuration as the service does.
func fetch(t *testing.T, kind, config, server string) (got fetched) {
	t.Helper()
	hosts := map[string]bool{}
	var source connector.Source
	for _, c := range shelf.All(outbound.New(outbound.Options{Transport: leading{server, hosts}}), time.Now) {
		if c.Kind() == kind {
			source, _ = c.(connector.Source)
		}
	}
	problems, err := web.CheckBody(source.Schema(), json.RawMessage(config))
	errtest.Must(t, err)
	errtest.Must(t, fault.Refuse(append(problems, source.(connector.Checker).CheckConfig(json.RawMessage(config))...)))
	f := connector.Fetch{
		Config: json.RawMessage(config), Credentials: map[string]string{"token": "s3cr3t", "apiKey": "s3cr3t", "username": "ada@example.com", "password": "s3cr3t"},
		Full: true, Mapper: new(mapping.Cache),
	}
	for {
		page, err := connector.FetchPage(t.Context(), source, f)
		errtest.Must(t, err)
		for _, s := range page.Skipped {
			t.Errorf("%s is left out: %s", s.Item, s.Reason)
		}
		for _, m := range page.Memories {
			got.Items = append(got.Items, fmt.Sprintf("%s %s: %s", m.Kind, m.ExternalID, m.Title))
		}
		for _, g := range page.Goals {
			item := fmt.Sprintf("goal %s: %s", g.ExternalID, g.Title)
			if m := g.Measure; m != nil {
				item += fmt.Sprintf(" %s of %s %s %s", m.Current, m.Target, m.Unit, m.Direction)
			}
			got.Items = append(got.Items, item)
			for _, p := range g.Check("") {
				t.Errorf("goal %s: %s %s", g.ExternalID, p.Pointer, p.Detail)
			}
		}
		if f.Checkpoint = page.Checkpoint; f.Checkpoint == nil {
			break
		}
	}
	for host := range hosts {
		got.Host += host
	}
	return got
}

// TestSources holds every manifest to the schema, its mappings to their language, and its examples to its own schema.
func TestSources(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("sources/*.json")
	errtest.Must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		errtest.Must(t, err)
		problems, err := web.CheckBody(manifest.Schema(), raw)
		errtest.Must(t, err)
		if len(problems) > 0 {
			t.Errorf("%s: problems %+v, want none", file, problems)
		}
		m, err := manifest.Parse(raw)
		errtest.Must(t, err)
		if got, want := m.Kind, strings.TrimSuffix(filepath.Base(file), ".json"); got != want {
			t.Errorf("%s: kind %q, want %q", file, got, want)
		}
		for _, s := range m.Streams {
			if _, err := mapping.Parse(s.Mapping); err != nil {
				t.Errorf("%s: mapping of %s: %v", file, s.Name, err)
			}
		}
	}
}

// TestAll_words shows how each provider signs by an example of every header, and that webhooks need no credentials.
func TestAll_words(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, c := range shelf.All(outbound.New(outbound.Options{}), time.Now) {
		if in, ok := c.(connector.Inbound); ok {
			for _, h := range in.Headers() {
				if h.Example == "" {
					t.Errorf("%s: the header %s has no example", c.Kind(), h.Name)
				}
				got[h.Name] = h.Description
			}
		}
		if both, ok := c.(*shelf.Both); ok && !strings.Contains(string(both.CredentialSchema()), "Webhooks need none.") {
			t.Errorf("%s: the credentials are %s, want them to say that webhooks need none", both.Kind(), both.CredentialSchema())
		}
	}
	for name, want := range map[string]string{
		"Linear-Signature": "the hexadecimal HMAC-SHA256 of the body", "Stripe-Signature": "the hexadecimal HMAC-SHA256 of {time}.{body}",
	} {
		if got[name] != want {
			t.Errorf("%s is described as %q, want %q", name, got[name], want)
		}
	}
}

// TestBoth_partly takes webhooks alone where the configuration does not say what to sync.
func TestBoth_partly(t *testing.T) {
	t.Parallel()
	for _, c := range shelf.All(outbound.New(outbound.Options{}), time.Now) {
		if c.Kind() != "gitlab" {
			continue
		}
		alone, both := fmt.Sprint(c.Ports([]byte(`{}`))), fmt.Sprint(c.Ports([]byte(`{"project":"acme/app"}`)))
		if diff := cmp.Diff([]string{"[inbound.receive memory.upsert goal.update timeline.note]", "[inbound.receive memory.upsert goal.update timeline.note sync.pull]"}, []string{alone, both}); diff != "" {
			t.Errorf("ports without and with a project differ (-want +got):\n%s", diff)
		}
	}
}
