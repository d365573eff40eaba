package blackbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"orgops/shared/testkit/errtest"
)

// ticketServer serves a list of JSON objects by page to callers that know the token. A Link header leads to the next page. It
// answers 304 to a caller that has the page already.
type ticketServer struct {
	token string

	mu        sync.Mutex
	pages     [][]string // titles; a ticket's title is also its id
	version   int
	unchanged int // how often it has answered 304
}

func (s *ticketServer) notModified() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unchanged
}

func (s *ticketServer) set(pages ...[]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.version = pages, s.version+1
}

// ServeHTTP implements http.Handler. It answers in a later millisecond than that of the request, because the timeline has no order
// within a millisecond.
func (s *ticketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nextMillisecond()
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		n = 1 // the first page's url names none
	}
	if n < 1 || n > len(s.pages) {
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf(`"%d-%d"`, s.version, n)
	if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
		s.unchanged++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if n < len(s.pages) {
		w.Header().Set("Link", fmt.Sprintf(`<?page=%d>; rel="next"`, n+1))
	}
	tickets := []object{}
	for _, title := range s.pages[n-1] {
		tickets = append(tickets, object{"id": title, "subject": title, "url": "https://example.com/" + title})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"data": tickets}) // a caller that has gone needs no answer
}

// source syncs a list that needs a token, with the credentials from the vault. One ticket waits for a person's approval. A full
// sync removes what the list no longer has, an unchanged list is not read again, and narrowed permissions deny what is new.
func source(j *journey) {
	j.login()
	second := j.colleague("founder") // whose role is older than what is asked
	tickets := &ticketServer{token: "swordfish"}
	tickets.set([]string{"Printer", "Salaries"}, []string{"Heating"})
	at := j.at("/integrations/http")
	config := object{
		"url": j.serve("tickets", tickets), "itemsPath": "/data", "idPath": "/id", "titlePath": "/subject", "linkPath": "/url", "target": "memory",
		// The clock decides when a schedule syncs. A journey of a minute seldom meets one of a day.
		"auth": "bearer", "schedule": "24h", "permissions": []string{"sync.pull", "memory.upsert"},
	}
	j.do("an approval for salaries", j.salaries("http"))
	j.do("configure", post(at, config))
	j.do("no credentials", post(at+"/certification", nil))
	credentials := func(token string) request {
		return call(http.MethodPut, at+"/credentials", object{"credentials": object{"token": token}})
	}
	j.do("store a wrong token", credentials("sardine"))
	j.do("it is not certified", post(at+"/certification", nil))
	j.do("store the right token", credentials(tickets.token))
	j.do("it is certified", post(at+"/certification", nil))

	j.synced("two tickets are stored, one waits", object{})
	j.do("the memories", get(j.at("/memory")))
	j.calm("all is folded in")
	j.do("its health and its schedule", get(at))
	j.approved(second)

	tickets.set([]string{"Printer", "Heating"})
	j.synced("one ticket is gone", object{"mode": "full"})
	j.synced("the list has not changed", object{})
	if tickets.notModified() == 0 {
		j.t.Error("the list answered no request with 304, want one")
	}
	config["permissions"] = []string{"sync.pull"}
	j.do("narrow the permissions", post(at, config))
	j.do("certify it again", post(at+"/certification", nil))
	tickets.set([]string{"Coffee"}, nil)
	j.synced("a new ticket is denied", object{})
	j.do("the decision", get(j.at("/operations/decisions?verdict=denied")))
	j.do("the memories are as before", get(j.at("/memory")))
	j.calm("all runs have ended")
	j.do("the narrowed integration", get(at))
}

// salaries puts the policy that a founder approves each memory of an integration with the title Salaries.
func (j *journey) salaries(provider string) request {
	return call(http.MethodPut, j.at("/operations/policies"), object{"policies": []object{{
		"id": "salaries", "mode": "enforce", "text": `@approval("salaries need a founder") forbid (principal == Integration::"` + provider +
			`", action == Action::"memory.upsert", resource) when { resource.title == "Salaries" } unless { context.approval == context.digest };`,
	}}})
}

// synced requests a sync of the list, and waits for the end of its run.
func (j *journey) synced(name string, body object) {
	j.t.Helper()
	j.syncedOf("http", name, body)
}

// syncedOf syncs an integration, and compares the run when it has ended.
func (j *journey) syncedOf(provider, name string, body object) {
	j.t.Helper()
	var run struct{ ID string }
	if a := j.peek(post(j.at("/memory/sync/"+provider), body)).json(&run); a.status != http.StatusAccepted {
		j.t.Fatalf("sync: %s", a)
	}
	j.settle(name, get(j.at("/memory/syncs/"+run.ID)), ended)
}

// approval looks at the one approval that waits, and returns the request that gives it.
func (j *journey) approval() request {
	j.t.Helper()
	var waiting struct{ Items []struct{ ID string } }
	j.do("what waits", get(j.at("/operations/approvals?state=pending"))).json(&waiting)
	if len(waiting.Items) != 1 {
		j.t.Fatalf("%d approvals wait, want 1", len(waiting.Items))
	}
	return post(j.at("/operations/approvals/"+waiting.Items[0].ID+"/approve"), nil)
}

// approved lets a second founder approve the ticket that waits, which a member cannot.
func (j *journey) approved(second string) {
	j.t.Helper()
	approve := j.approval()
	member := j.address("member")
	errtest.Must(j.t, j.target.addMember(j.t.Context(), j.company, member, password))
	j.do("a member approves", approve.bearing("member", j.loginAs(member)))
	j.do("a second founder approves", approve.bearing("second founder", second))
	j.do("it is decided once", approve)
	j.do("the ticket is stored", get(j.at("/memory")))
}
