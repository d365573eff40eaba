package acceptance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	if location := a.header.Get("Location"); location != tn.at("/memory/syncs/"+r.ID) {
		tn.t.Errorf("Location: %s", location)
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

// TestEveryEvent causes every event of the contract as a company does: with inbound webhooks, goals that move, and syncs.
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Events")
	secret := newSecret(t)
	r := receive(t, secret)
	tn.subscribe("webhook", r.url, secret, "memory.*", "goal.*", "integration.*", "timeline.*")

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
	if preview := tn.sync("feed"); preview.Mode != "sandbox" || len(preview.Preview) != 3 {
		t.Errorf("a sync in the sandbox: %+v", preview)
	}
	if n := len(r.deliveries("memory.synced")); n != 0 || len(r.deliveries("memory.created")) > 1 {
		t.Error("a sync in the sandbox created events")
	}
	tn.certify("feed")
	if first := tn.sync("feed"); first.Mode != "live" || first.Progress.Created != 3 {
		t.Errorf("the first live sync: %+v", first)
	}
	if again := tn.sync("feed"); again.Progress.Created != 0 || again.Progress.Updated != 0 {
		t.Errorf("a sync of an unchanged feed: %+v", again)
	}
	feed.entries.Store(4)
	if more := tn.sync("feed"); more.Progress.Created != 1 || more.Progress.Unchanged != 3 {
		t.Errorf("a sync after one new entry: %+v", more)
	}

	for _, want := range []struct {
		event string
		n     int
	}{
		{"memory.created", 1 + 3 + 1}, {"memory.updated", 1}, {"memory.synced", 3}, {"integration.sync.completed", 3},
		{"goal.updated", 2}, {"goal.alignment.changed", 1}, {"timeline.entry.created", 1},
	} {
		eventually(t, fmt.Sprintf("%d of %s", want.n, want.event), func() bool { return len(r.deliveries(want.event)) >= want.n })
		if got := len(r.deliveries(want.event)); got != want.n && want.event != "timeline.entry.created" {
			t.Errorf("%s arrived %d times, want %d", want.event, got, want.n)
		}
		asDocumented(t, r.deliveries(want.event))
	}
	var updated struct {
		Title    string
		Previous map[string]any
	}
	errtest.Must(t, json.Unmarshal(r.deliveries("memory.updated")[0].Data, &updated))
	if updated.Title != "Ticket one" || updated.Previous["title"] != "Ticket 1" || updated.Previous["kind"] != nil {
		t.Errorf("memory.updated carries %+v", updated)
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
