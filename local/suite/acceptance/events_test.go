package acceptance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
)

// feedServer serves an Atom feed that can change, and answers 304 if it has not.
type feedServer struct {
	entries atomic.Int64
	fetched atomic.Int64
}

func (f *feedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.fetched.Add(1)
	n := f.entries.Load()
	etag := fmt.Sprintf(`"%d"`, n)
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml")
	fmt.Fprint(w, `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:news</id><updated>2026-01-01T00:00:00Z</updated>`)
	for i := range n {
		fmt.Fprintf(w, `<entry><id>urn:news:%d</id><title>News %d</title><updated>2026-01-01T00:00:00Z</updated><link href="https://example.com/%d"/></entry>`, i, i, i)
	}
	fmt.Fprint(w, `</feed>`)
}

// run holds a sync run as the API shows it.
type run struct {
	ID, Mode, State, Error string
	Progress               struct{ Fetched, Created, Updated, Unchanged int }
	Preview                []struct{ Title string }
}

// sync runs a sync and waits for its end.
func (tn *tenant) sync(provider string) run {
	tn.t.Helper()
	var r run
	a := tn.do("POST", tn.at("/memory/sync/"+provider), nil).want(202).json(&r)
	if got, want := a.header.Get("Location"), tn.at("/memory/syncs/"+r.ID); got != want {
		tn.t.Errorf("Location = %s, want %s", got, want)
	}
	eventually(tn.t, "the sync ends", func() bool {
		tn.do("GET", tn.at("/memory/syncs/"+r.ID), nil).want(200).json(&r)
		return r.State == "succeeded" || r.State == "failed"
	})
	if r.State != "succeeded" {
		tn.t.Fatalf("the sync failed: %+v", r)
	}
	return r
}

// TestEveryEvent causes every event of the contract as a company does: with inbound webhooks, goals that move, and syncs. An endpoint that
// hears of everything gets the operational events that come with them. What both get fits the catalogue.
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Events")
	secret := newSecret(t)
	r := receive(t, secret)
	contract := []string{"memory.*", "goal.*", "integration.*", "timeline.*"}
	tn.subscribe("webhook", r.url, secret, contract...)
	all := receive(t, secret)
	tn.subscribe("webhook-all", all.url, secret, "*")

	tn.post(secret, "m-1", ticket(1))
	tn.post(secret, "m-2", []byte(strings.Replace(string(ticket(1)), "Ticket 1", "Ticket one", 1)))
	goal := func(progress float64) []byte {
		now := time.Now().UTC()
		return fmt.Appendf(nil, `{"type":"goal.update","data":{"externalId":"g","title":"Ship","progress":%g,"state":"open","startedAt":%q,"dueAt":%q}}`,
			progress, now.Add(-90*24*time.Hour).Format(time.DateOnly+"T00:00:00Z"), now.Add(10*24*time.Hour).Format(time.DateOnly+"T00:00:00Z"))
	}
	tn.post(secret, "g-1", goal(0.95))
	tn.post(secret, "g-2", goal(0.1))

	feed := &feedServer{}
	feed.entries.Store(3)
	tn.do("POST", tn.at("/integrations/feed"), map[string]any{"url": serve(t, feed.ServeHTTP)}).want(201)
	type facts struct {
		mode                         string
		previewed                    int
		created, updated, unaffected int
	}
	synced := func(want facts) {
		t.Helper()
		r := tn.sync("feed")
		if got := (facts{r.Mode, len(r.Preview), r.Progress.Created, r.Progress.Updated, r.Progress.Unchanged}); got != want {
			t.Errorf("sync = %+v, want %+v", got, want)
		}
	}
	synced(facts{mode: "sandbox", previewed: 3})
	if n := len(r.deliveries("memory.synced")); n != 0 {
		t.Errorf("a sync in the sandbox caused %d events memory.synced, want 0", n)
	}
	if n := len(r.deliveries("memory.created")); n > 1 {
		t.Errorf("%d events memory.created after a sync in the sandbox, want 1 at most, the ticket's", n)
	}
	tn.certify("feed")
	synced(facts{mode: "live", created: 3})
	synced(facts{mode: "live"})
	feed.entries.Store(4)
	synced(facts{mode: "live", created: 1, unaffected: 3})

	unseen := slices.DeleteFunc(event.Names(), func(name string) bool { return !event.Matches(contract, name) })
	for _, want := range []struct {
		event string
		n     int
	}{
		{"memory.created", 1 + 3 + 1}, {"memory.updated", 1}, {"memory.synced", 3}, {"integration.sync.completed", 3},
		{"goal.updated", 2}, {"goal.alignment.changed", 1}, {"timeline.entry.created", 1},
	} {
		unseen = slices.DeleteFunc(unseen, func(name string) bool { return name == want.event })
		eventually(t, fmt.Sprintf("%d of %s", want.n, want.event), func() bool { return len(r.deliveries(want.event)) >= want.n })
		if got := len(r.deliveries(want.event)); got != want.n && want.event != "timeline.entry.created" {
			t.Errorf("%s arrived %d times, want %d", want.event, got, want.n)
		}
	}
	if len(unseen) > 0 {
		t.Errorf("nothing causes %v, want a cause of each event of the contract", unseen)
	}
	for _, what := range []string{"disable", "enable"} {
		tn.do("POST", tn.at("/integrations/webhook/"+what), nil).want(200)
	}
	var invited struct{ ID, InvitationToken string }
	tn.do("POST", tn.at("/operations/users"), map[string]any{"email": "joins-" + tn.Email, "role": "member"}).want(201).json(&invited)
	tn.do("POST", "/auth/invitation", map[string]any{"token": invited.InvitationToken, "password": tn.Password}).want(200)
	tn.do("DELETE", tn.at("/operations/users/"+invited.ID), nil).want(204)
	var asked struct{ Approval struct{ ID string } }
	tn.do("POST", tn.at("/operations/erasure"), map[string]any{"name": "Events"}).want(202).json(&asked)
	tn.do("POST", tn.at("/operations/approvals/"+asked.Approval.ID+"/withdraw"), nil).want(200)
	tn.trouble(secret)
	tn.acts()
	byClock := []string{event.ApprovalExpiring, event.IntegrationExpiring, event.DeliveryDead, event.SyncFailed} // they come after hours or days, or after tries of minutes
	for _, name := range event.Names() {
		if slices.Contains(byClock, name) {
			continue
		}
		eventually(t, name+" at the endpoint that hears of everything", func() bool { return len(all.deliveries(name)) > 0 })
	}
	tn.catalogued(r)
	tn.catalogued(all)
	var updated struct {
		Title    string
		Previous map[string]any
	}
	errtest.Must(t, json.Unmarshal(r.deliveries("memory.updated")[0].Data, &updated))
	got := [...]any{updated.Title, updated.Previous["title"], updated.Previous["kind"]}
	if want := [...]any{"Ticket one", "Ticket 1", nil}; got != want {
		t.Errorf("title, previous title and previous kind in memory.updated = %v, want %v", got, want)
	}
}

// trouble has an endpoint fail, and another feed take the place of a certified one.
func (tn *tenant) trouble(secret string) {
	tn.t.Helper()
	failing := receive(tn.t, secret)
	failing.answer = func(received) int { return http.StatusInternalServerError }
	tn.subscribe("webhook-failing", failing.url, secret, "memory.*")
	for n := range 6 {
		tn.post(secret, fmt.Sprintf("m-1%d", n), ticket(10+n))
	}
	other := &feedServer{}
	for _, status := range []int{201, 200} {
		tn.do("POST", tn.at("/integrations/feed-other"), map[string]any{"url": serve(tn.t, other.ServeHTTP)}).want(status)
		tn.certify("feed-other")
	}
}

// acts has an executive note something.
func (tn *tenant) acts() {
	tn.t.Helper()
	var users struct{ Items []struct{ ID string } }
	tn.do("GET", tn.at("/operations/users"), nil).want(200).json(&users)
	var scribe struct{ ID string }
	tn.do("POST", tn.at("/executives"), map[string]any{
		"name": "Scribe", "role": "Takes notes", "owner": users.Items[0].ID, "actions": []string{"timeline.note"},
	}).want(201).json(&scribe)
	tn.do("POST", tn.at("/executives/"+scribe.ID+"/certification"), nil).want(200)
	tn.do("POST", tn.at("/executives/"+scribe.ID+"/actions"), map[string]any{"action": "timeline.note", "input": map[string]any{"title": "We moved"}}, "Idempotency-Key", "moved").want(202)
}

// catalogued checks each delivery that a receiver got against the JSON Schema that the catalogue has of its event.
func (tn *tenant) catalogued(r *receiver) {
	tn.t.Helper()
	var all struct {
		Items []struct {
			Name   string
			Schema json.RawMessage
		}
	}
	tn.do("GET", tn.at("/event-types"), nil).want(200).json(&all)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schemas := map[string]*jsonschema.Schema{}
	for _, e := range all.Items {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Schema))
		errtest.Must(tn.t, err)
		errtest.Must(tn.t, compiler.AddResource(e.Name, doc))
		schemas[e.Name], err = compiler.Compile(e.Name)
		errtest.Must(tn.t, err)
	}
	for _, d := range r.deliveries() {
		body, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.body))
		errtest.Must(tn.t, err)
		if err := schemas[d.Type].Validate(body); err != nil {
			tn.t.Errorf("a delivery of %s differs from the catalogue's schema: %v\n%s", d.Type, err, d.body)
		}
	}
}

// TestContextVersion reads unchanged resources again, which is answered 304, and sees the version grow with each change.
func TestContextVersion(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Versions")
	secret := newSecret(t)
	tn.subscribe("webhook", receive(t, secret).url, secret, "memory.*")
	version := func() int {
		var context struct{ ContextVersion int }
		tn.do("GET", tn.at("/intelligence/context"), nil).want(200).json(&context)
		return context.ContextVersion
	}
	before := version()
	tn.post(secret, "m-1", ticket(1))
	eventually(t, "the version grows", func() bool { return version() > before })
	for _, path := range []string{
		"/mission-control/health", "/mission-control/readiness", "/mission-control/dashboard", "/mission-control/timeline",
		"/intelligence/brief", "/intelligence/recommendations", "/intelligence/context",
	} {
		var body struct{ ContextVersion *int }
		// The tag holds the minute, and the projector may still fold the last events: some tries may see two different tags.
		eventually(t, path+" is answered 304", func() bool {
			etag := tn.do("GET", tn.at(path), nil).want(200).json(&body).header.Get("ETag")
			return etag != "" && tn.do("GET", tn.at(path), nil, "If-None-Match", etag).status == http.StatusNotModified
		})
		if body.ContextVersion == nil {
			t.Errorf("%s carries no contextVersion", path)
		}
	}
}
