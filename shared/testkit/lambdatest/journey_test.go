package lambdatest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/lambdatest"
	"orgops/shared/webhook/standardwebhooks"
)

const signingSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

// subscriber accepts signed deliveries and records their ids.
type subscriber struct {
	mu     sync.Mutex
	broken bool
	taken  []string // ids of accepted deliveries
}

func (s *subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var id string
	if err == nil {
		id, err = standardwebhooks.Verify([]string{signingSecret}, r.Header, body, time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		w.WriteHeader(http.StatusUnauthorized)
	case s.broken:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		s.taken = append(s.taken, id)
	}
}

// fail makes the subscriber answer 503, or ends that.
func (s *subscriber) fail(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// received returns how often the subscriber accepted an event.
func (s *subscriber) received(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.taken), func(other string) bool { return other != id }))
}

// tenant holds a company in a world whose functions may call this machine.
type tenant struct {
	*world
	t       *testing.T
	company string
	bearer  string
	path    string
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	w := newWorld(t, secretText(t)).withQueues(t)
	w.environment = append(w.environment, "ORGOPS_ALLOW_NETWORKS=127.0.0.0/8")
	company := provisioned(t, w)
	return &tenant{world: w, t: t, company: company, bearer: loggedIn(t, w.start(t, "auth")), path: "/companies/" + company}
}

// call sends a request to a group and decodes the answer into answer, unless that is nil.
func (n *tenant) call(f *lambdatest.Function, method, path, body string, status int, answer any) {
	n.t.Helper()
	resp := ask(n.t, f, request(n.t, method, n.path+path, n.bearer, body))
	if resp.StatusCode != status {
		n.t.Fatalf("%s %s: status = %d, want %d: %s", method, path, resp.StatusCode, status, resp.Body)
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(resp.Body), answer); err != nil {
			n.t.Fatalf("%s: %v", resp.Body, err)
		}
	}
}

// certified configures a connector and takes it out of the sandbox.
func (n *tenant) certified(provider, config string) {
	n.t.Helper()
	f := n.start(n.t, "integrations")
	n.call(f, "POST", "/integrations/"+provider, config, 201, nil)
	var report struct{ Passed bool }
	n.call(n.start(n.t, "inbound"), "POST", "/integrations/"+provider+"/certification", "", 200, &report)
	if !report.Passed {
		n.t.Fatalf("the certification of %s did not pass", provider)
	}
}

// written returns the stream's event for a new item.
func (n *tenant) written(key, entity string, body json.RawMessage) []byte {
	n.t.Helper()
	var event struct {
		Records []map[string]any
	}
	if err := json.Unmarshal(sample(n.t, "dispatcher/memory-insert", sampleCompany, n.company), &event); err != nil {
		n.t.Fatal(err)
	}
	text := func(s string) map[string]any { return map[string]any{"S": s} }
	change := event.Records[0]["dynamodb"].(map[string]any)
	change["Keys"].(map[string]any)["sk"] = text(key)
	image := change["NewImage"].(map[string]any)
	image["sk"], image["entity"], image["body"] = text(key), text(entity), text(string(body))
	image["at"] = map[string]any{"N": strconv.FormatInt(time.Now().UnixMilli(), 10)}
	payload, err := json.Marshal(event)
	if err != nil {
		n.t.Fatal(err)
	}
	return payload
}

// deliveries returns the company's stored deliveries by key.
func (n *tenant) deliveries() map[string]delivery.Delivery {
	n.t.Helper()
	page, err := store.For(n.main, n.company).Query(n.t.Context(), store.Query{Prefix: delivery.Prefix})
	if err != nil {
		n.t.Fatal(err)
	}
	all := map[string]delivery.Delivery{}
	for _, item := range page.Items {
		var d delivery.Delivery
		if err := json.Unmarshal(item.Body, &d); err != nil {
			n.t.Fatal(err)
		}
		all[item.Key] = d
	}
	return all
}

// one returns the only stored delivery.
func (n *tenant) one() (key string, d delivery.Delivery) {
	n.t.Helper()
	all := n.deliveries()
	if len(all) != 1 {
		n.t.Fatalf("%d stored deliveries, want 1", len(all))
	}
	for key, d = range all {
	}
	return key, d
}

// settled receives the next message of a queue and has the worker handle it, as Lambda does.
func (n *tenant) settled(f *lambdatest.Function, function string, q queue.Queue) {
	n.t.Helper()
	wantFailures(n.t, f, message(n.t, sample(n.t, function+"/job"), taken(n.t, q), ""))
}

// progress describes how far a delivery is.
type progress struct {
	State          delivery.State
	Made, Received int // attempts made, and accepted by the subscriber
}

// TestJourney_Delivery follows a signed inbound webhook. It becomes a memory, and the memory's stream record becomes one
// signed delivery. After the endpoint refuses that, the queue redelivers it.
func TestJourney_Delivery(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	endpoint := &subscriber{}
	server := httptest.NewServer(endpoint)
	t.Cleanup(server.Close)
	n.certified("webhook", `{"url":"`+server.URL+`","events":["memory.*"],"signingSecret":"`+signingSecret+`"}`)

	inbound := n.start(t, "inbound")
	body := `{"type":"memory.upsert","data":{"externalId":"42","kind":"ticket","title":"Printer on fire"}}`
	wantAnswer(t, inbound, n.signed("msg_1", body, body), 202, `"outcome":"created"`)
	wantAnswer(t, inbound, n.signed("msg_1", body, body), 200, `"duplicate":true`)
	item := n.memory()
	created := n.written(item.Key, memory.Entity, item.Body)
	wantDelivery := func(want progress) (key string, d delivery.Delivery) {
		t.Helper()
		key, d = n.one()
		if got := (progress{d.State, d.Made, endpoint.received(d.EventID)}); got != want {
			t.Fatalf("delivery = %+v, want %+v", got, want)
		}
		return key, d
	}

	endpoint.fail(true)
	dispatcher := n.start(t, "dispatcher")
	wantFailures(t, dispatcher, created)
	key, d := wantDelivery(progress{delivery.Scheduled, 1, 0})
	text, err := json.Marshal(d)
	errtest.Must(t, err)
	wantFailures(t, dispatcher, n.written(key, delivery.Entity, text))

	endpoint.fail(false)
	n.due(key)
	n.settled(n.start(t, "retrier"), "retrier", n.retries)
	wantDelivery(progress{delivery.Delivered, 2, 1})
	for _, again := range []*lambdatest.Function{dispatcher, n.start(t, "dispatcher")} {
		wantFailures(t, again, created)
		wantDelivery(progress{delivery.Delivered, 2, 1})
	}
}

// due makes a delivery's next attempt due now.
func (n *tenant) due(key string) {
	n.t.Helper()
	c := store.For(n.main, n.company)
	var d delivery.Delivery
	item, err := c.Get(n.t.Context(), key, &d)
	if err != nil {
		n.t.Fatal(err)
	}
	now := time.Now()
	d.NextAttemptAt = &now
	if err := c.Commit(n.t.Context(), c.Replace(key, delivery.Entity, item.Version, d)); err != nil {
		n.t.Fatal(err)
	}
}

// TestJourney_Sync follows a requested sync. The dispatcher queues the run, and the syncer stores the source's items.
func TestJourney_Sync(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title>
			<item><guid>1</guid><title>One</title><link>https://example.com/1</link></item>
			<item><guid>2</guid><title>Two</title><link>https://example.com/2</link></item></channel></rss>`)
	}))
	t.Cleanup(source.Close)
	n.certified("feed", `{"url":"`+source.URL+`"}`)
	group := n.start(t, "memory")
	var run struct{ ID, State string }
	n.call(group, "POST", "/memory/sync/feed", "", 202, &run)
	item, err := store.For(n.main, n.company).Get(t.Context(), syncrun.Key(run.ID), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFailures(t, n.start(t, "dispatcher"), n.written(item.Key, syncrun.Entity, item.Body))
	n.settled(n.start(t, "syncer"), "syncer", n.syncs)
	n.call(group, "GET", "/memory/syncs/"+run.ID, "", 200, &run)
	var list struct {
		Items []struct{ Title string }
	}
	n.call(group, "GET", "/memory", "", 200, &list)
	if run.State != "succeeded" {
		t.Errorf("state of the run = %s, want succeeded", run.State)
	}
	if len(list.Items) != 2 {
		t.Errorf("memories = %+v, want two", list.Items)
	}
}
