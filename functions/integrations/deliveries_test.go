package integrations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/standardwebhooks"
)

// attempt decodes a delivery as a client sees it.
type attempt struct {
	DeliveryID, EventID, Event string
	Attempt                    int
	State                      string
	Status                     int
	Error, ResponseExcerpt     string
	HeldBecause                string
	NextAttemptAt              *time.Time
	Payload                    json.RawMessage
	Attempts                   []struct{ Attempt int }
	LatencyMs                  int64
}

// deliver records a delivery, as the dispatcher does.
func (s *service) deliver(endpoint string, d delivery.Delivery) delivery.Delivery {
	s.t.Helper()
	d.Endpoint, d.Incarnation = endpoint, s.incarnation(endpoint)
	errtest.Must(s.t, s.company().Commit(s.t.Context(), s.company().Create(delivery.Key(d.EventID, endpoint), delivery.Entity, d)))
	return d
}

func event(at time.Time, name string) delivery.Delivery {
	eventID := id.At(at, name)
	return delivery.Delivery{Head: delivery.Head{EventID: eventID, Event: name, CreatedAt: at}, Payload: json.RawMessage(fmt.Sprintf(`{"id":%q}`, eventID))}
}

func delivered(at time.Time) delivery.Delivery {
	d := event(at, "memory.created")
	d.Log(delivery.Attempt{Number: 1, State: delivery.Delivered, At: at, Status: 204, LatencyMS: 3})
	d.End(delivery.Delivered)
	return d
}

func dead(at time.Time) delivery.Delivery {
	d := event(at, "memory.updated")
	for n := range 3 {
		d.Log(delivery.Attempt{Number: n + 1, State: delivery.Failed, At: at, Status: 500, Error: "answered 500", Excerpt: "boom"})
	}
	d.End(delivery.Dead)
	return d
}

func held(at time.Time) delivery.Delivery {
	d := event(at, "goal.updated")
	d.Hold("sandbox")
	return d
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	s.configure("webhook-b", "https://example.com/b")
	now := s.clock.Now()
	a, b, c := s.deliver("webhook", dead(now.Add(-3*time.Hour))), s.deliver("webhook", held(now.Add(-2*time.Hour))), s.deliver("webhook", delivered(now.Add(-time.Hour)))
	s.deliver("webhook-b", delivered(now.Add(-time.Hour)))
	tests := []struct {
		name, query string
		want        []string
	}{
		{"newest first", "", []string{c.EventID, b.EventID, a.EventID}},
		{"state", "state=held", []string{b.EventID}},
		{"event", "event=memory.updated", []string{a.EventID}},
		{"state and event", "state=held&event=memory.updated", nil},
		{"since", "since=" + url.QueryEscape(b.CreatedAt.Format(time.RFC3339Nano)), []string{c.EventID, b.EventID}},
		{"since, with an offset", "since=" + url.QueryEscape(b.CreatedAt.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)), []string{c.EventID, b.EventID}},
		{"since long ago", "since=1960-01-01T00:00:00Z", []string{c.EventID, b.EventID, a.EventID}},
		{"since later", "since=9999-12-31T23:59:59Z", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, s.listed("/webhook/deliveries?"+tt.query)); diff != "" {
				t.Errorf("deliveries differ (-want +got):\n%s", diff)
			}
		})
	}
	every := s.all("?event=memory.created&limit=1")
	if want := []string{"webhook " + c.EventID, "webhook-b " + c.EventID}; !cmp.Equal(slices.Sorted(slices.Values(every)), want) {
		t.Errorf("deliveries to all endpoints = %q, want %q", every, want)
	}
	if got, want := s.all("?provider=webhook&state=held"), []string{"webhook " + b.EventID}; !cmp.Equal(got, want) {
		t.Errorf("held deliveries to one endpoint = %q, want %q", got, want)
	}
	for _, query := range []string{"state=lost", "since=yesterday", "since=", "limit=0", "more=1", "cursor=x"} {
		s.do("GET", "/webhook/deliveries?"+query, nil).WantProblem(422, "invalid")
	}
	for _, never := range []string{"/unknown/deliveries", "/webhook-typo/deliveries", "/webhook-typo/deliveries?state=held", "/webhook-typo/inbox", "/unknown/inbox"} {
		s.do("GET", never, nil).WantProblem(404, "not-found")
	}
	s.do("GET", "/unknown/deliveries/"+a.EventID, nil).WantProblem(404, "not-found")
}

// all lists the deliveries to all endpoints, from all pages.
func (s *service) all(query string) []string {
	s.t.Helper()
	found := []string{}
	for next := "/companies/" + s.A.ID + "/deliveries" + query; next != ""; {
		var page struct {
			Items []struct{ Provider, DeliveryID string }
		}
		answer := s.Do("GET", next, s.A.Token, nil).Want(200).JSON(&page)
		for _, d := range page.Items {
			found = append(found, d.Provider+" "+d.DeliveryID)
		}
		link, _, _ := strings.Cut(answer.Header.Get("Link"), ">")
		next = strings.TrimPrefix(link, "<")
	}
	return found
}

// listed returns the ids of a listing, from all of its pages.
func (s *service) listed(rest string) []string {
	s.t.Helper()
	var ids []string
	next := s.at(rest)
	for next != "" {
		var page struct {
			Items      []attempt
			NextCursor string
		}
		answer := s.Do("GET", next, s.A.Token, nil).Want(200).JSON(&page)
		for _, d := range page.Items {
			ids = append(ids, d.DeliveryID)
		}
		next = ""
		if page.NextCursor != "" {
			next = strings.TrimPrefix(strings.Split(answer.Header.Get("Link"), ">")[0], "<")
		}
	}
	return ids
}

func TestDeliveries_Pages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	var want []string
	for n := range 25 {
		at := s.clock.Now().Add(-time.Duration(n) * time.Minute)
		want = append(want, s.deliver("webhook", delivered(at)).EventID)
		s.deliver("webhook-b", delivered(at))
	}
	if diff := cmp.Diff(want, s.listed("/webhook/deliveries?limit=4")); diff != "" {
		t.Errorf("deliveries differ (-want +got):\n%s", diff)
	}
	var page struct{ NextCursor string }
	s.do("GET", "/webhook/deliveries?limit=4", nil).Want(200).JSON(&page)
	for _, rest := range []string{"/webhook-b/deliveries?limit=4", "/webhook/deliveries?limit=4&state=held"} {
		s.do("GET", rest+"&cursor="+page.NextCursor, nil).WantProblem(422, "invalid")
	}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	d, h := s.deliver("webhook", dead(s.clock.Now())), s.deliver("webhook", held(s.clock.Now()))
	for _, want := range []attempt{
		{
			DeliveryID: d.EventID, EventID: d.EventID, Event: "memory.updated", Attempt: 3, State: "dead", Status: 500,
			Error: "answered 500", ResponseExcerpt: "boom", Payload: d.Payload, Attempts: []struct{ Attempt int }{{1}, {2}, {3}},
		},
		{
			DeliveryID: h.EventID, EventID: h.EventID, Event: "goal.updated", State: "held", HeldBecause: "sandbox",
			Payload: h.Payload, Attempts: []struct{ Attempt int }{}, // shown as a list
		},
	} {
		var got attempt
		s.do("GET", "/webhook/deliveries/"+want.DeliveryID, nil).Want(200).JSON(&got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s delivery differs (-want +got):\n%s", want.State, diff)
		}
	}
	for _, rest := range []string{"/webhook/deliveries/" + id.New(), "/webhook-b/deliveries/" + d.EventID, "/webhook/deliveries/a%23b", "/webhook/deliveries/%2e%2e"} {
		s.do("GET", rest, nil).WantProblem(404, "not-found")
	}
	s.Do("GET", "/companies/"+s.B.ID+"/integrations/webhook/deliveries/"+d.EventID, s.B.Token, nil).WantProblem(404, "not-found")
}

// TestRetry commits a retry in any state of the delivery. The queue message follows from the change feed.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	for _, d := range []delivery.Delivery{dead(s.clock.Now()), held(s.clock.Now()), delivered(s.clock.Now())} {
		d = s.deliver("webhook", d)
		var got attempt
		s.do("POST", "/webhook/deliveries/"+d.EventID+"/retry", nil).Want(202).JSON(&got)
		shown := attempt{State: "scheduled", NextAttemptAt: new(s.clock.Now())}
		other := cmpopts.IgnoreFields(attempt{},
			"DeliveryID", "EventID", "Event", "Attempt", "Status", "Error", "ResponseExcerpt", "Payload", "Attempts", "LatencyMs")
		if diff := cmp.Diff(shown, got, other); diff != "" {
			t.Errorf("answer to the retry of a %s delivery differs (-want +got):\n%s", d.State, diff)
		}
		want := d
		want.Restart(s.clock.Now())
		var now delivery.Delivery
		item, err := s.company().Get(t.Context(), delivery.Key(d.EventID, "webhook"), &now)
		errtest.Must(t, err)
		if diff := cmp.Diff(want, now); diff != "" {
			t.Errorf("record of a %s delivery differs (-want +got):\n%s", d.State, diff)
		}
		if least := d.CreatedAt.Add(29 * 24 * time.Hour); item.Expires.Before(least) {
			t.Errorf("the record of a %s delivery expires at %v, want %v or later", d.State, item.Expires, least)
		}
		s.do("POST", "/webhook/deliveries/"+d.EventID+"/retry", nil).Want(202) // already scheduled
	}
	s.do("POST", "/webhook/deliveries/"+id.New()+"/retry", nil).WantProblem(404, "not-found")
	s.do("POST", "/webhook-b/deliveries/"+id.New()+"/retry", nil).WantProblem(404, "not-found")
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	s.do("POST", "/feed/deliveries/"+id.New()+"/retry", nil).WantProblem(409, "conflict")
}

// TestRetry_Waiting refuses a delivery that waits in its line, and lets one join that is in none.
func TestRetry_Waiting(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	c := s.company()
	lines := delivery.NewLines(c)
	var all []delivery.Delivery
	var ops []store.Op
	for n := range 2 {
		d := event(s.clock.Now().Add(time.Duration(n)*time.Millisecond), "memory.updated")
		d.Endpoint, d.Incarnation, d.Line = "webhook", s.incarnation("webhook"), "MEMORY#1"
		errtest.Must(t, lines.Join(t.Context(), &d, s.clock.Now()))
		all, ops = append(all, d), append(ops, d.Save(c, 0))
	}
	errtest.Must(t, c.Commit(t.Context(), lines.Ops(ops...)...))
	retry := func() *webtest.Response { return s.do("POST", "/webhook/deliveries/"+all[1].EventID+"/retry", nil) }
	retry().WantProblem(409, "conflict")
	errtest.Must(t, c.Commit(t.Context(), c.Delete(delivery.LineKey(all[1]), delivery.LineEntity, 1).Quietly()))
	var got attempt
	retry().Want(202).JSON(&got)
	if got.State != "scheduled" {
		t.Errorf("a delivery without its line is %q, want scheduled", got.State)
	}
}

// TestRetry_Concurrent accepts concurrent retries.
func TestRetry_Concurrent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	d := s.deliver("webhook", dead(s.clock.Now()))
	statuses := make(chan int, 6)
	var running sync.WaitGroup
	for range cap(statuses) {
		running.Go(func() { statuses <- s.do("POST", "/webhook/deliveries/"+d.EventID+"/retry", nil).Status })
	}
	running.Wait()
	close(statuses)
	for status := range statuses {
		if status != http.StatusAccepted {
			t.Errorf("status = %d, want %d", status, http.StatusAccepted)
		}
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	now := s.clock.Now()
	text := func(at time.Time) string { return at.Format(time.RFC3339Nano) }
	tests := []struct {
		name, body   string
		since, until time.Time
	}{
		{"until now", fmt.Sprintf(`{"since":%q}`, text(now.Add(-time.Hour))), now.Add(-time.Hour), now},
		{"until null", fmt.Sprintf(`{"since":%q,"until":null}`, text(now.Add(-time.Hour))), now.Add(-time.Hour), now},
		{"a window", fmt.Sprintf(`{"since":%q,"until":%q}`, text(now.Add(-time.Hour)), text(now.Add(-time.Minute))), now.Add(-time.Hour), now.Add(-time.Minute)},
		{"an instant", fmt.Sprintf(`{"since":%q,"until":%q}`, text(now), text(now)), now, now},
		{"into the future", fmt.Sprintf(`{"since":%q,"until":"9999-12-31T23:59:59-12:00"}`, text(now)), now, now},
		{"from long ago", `{"since":"0000-01-01T00:00:00+12:00"}`, now.Add(-delivery.Kept), now},
		{"long ago", `{"since":"0000-01-01T00:00:00+12:00","until":"0000-01-01T00:00:00+12:00"}`, now.Add(-delivery.Kept), now.Add(-delivery.Kept)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got recovery.Recovery
			s.do("POST", "/webhook/recover", tt.body).Want(202).JSON(&got)
			want := recovery.Recovery{
				ID: got.ID, Provider: "webhook", Since: tt.since, Until: tt.until, State: recovery.Requested,
				RequestedBy: s.A.UserID, RequestedAt: now,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("recovery differs (-want +got):\n%s", diff)
			}
			var stored recovery.Stored
			_, err := s.company().Get(t.Context(), recovery.Key(got.ID), &stored)
			errtest.Must(t, err)
			if diff := cmp.Diff(recovery.Stored{Recovery: want, Incarnation: s.incarnation("webhook")}, stored); diff != "" {
				t.Errorf("stored recovery differs (-want +got):\n%s", diff)
			}
		})
	}
	refused := []struct{ body, pointer string }{
		{`{}`, "/since"},
		{`{"since":"yesterday"}`, "/since"},
		{fmt.Sprintf(`{"since":%q}`, text(now.Add(time.Second))), "/since"},
		{fmt.Sprintf(`{"since":%q,"until":%q}`, text(now), text(now.Add(-time.Second))), "/until"},
		{fmt.Sprintf(`{"since":%q,"to":"x"}`, text(now)), "/to"},
	}
	for _, tt := range refused {
		if p := s.do("POST", "/webhook/recover", tt.body).WantProblem(422, "invalid"); p.Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: problems %+v, want one at %s", tt.body, p.Errors, tt.pointer)
		}
	}
	s.do("POST", "/webhook-b/recover", tests[0].body).WantProblem(404, "not-found")
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	s.do("POST", "/github/recover", tests[0].body).WantProblem(409, "conflict")
	first := s.do("POST", "/webhook/recover", tests[0].body, "Idempotency-Key", "once").Want(202)
	if again := s.do("POST", "/webhook/recover", tests[0].body, "Idempotency-Key", "once").Want(202); string(again.Body) != string(first.Body) {
		t.Errorf("answer to the repeat %s, want %s", again.Body, first.Body)
	}
}

// TestTest sends a signed sample at once, even if the integration is sandboxed or disabled, and records nothing.
func TestTest(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, func(header http.Header, body []byte) int {
		if _, err := standardwebhooks.Verify([]string{given}, header, body, s.clock.Now()); err != nil {
			t.Errorf("signature in %v is invalid, want a valid one: %v", header, err)
		}
		if got := header.Get("X-Team"); got != "a" {
			t.Errorf(`X-Team %q, want "a"`, got)
		}
		if want := `"type":"orgops.sample"`; !strings.Contains(string(body), want) {
			t.Errorf("body %s, want one with %s", body, want)
		}
		return http.StatusAccepted
	})
	s.configured("webhook", map[string]any{"url": r.URL, "events": []string{"memory.*"}, "signingSecret": given, "headers": map[string]string{"X-Team": "a"}}, 201)
	s.do("POST", "/webhook/disable", nil).Want(200)
	var got, failed attempt
	s.do("POST", "/webhook/test", nil).Want(200).JSON(&got)
	want := attempt{Event: "orgops.sample", Attempt: 1, State: "delivered", Status: 202}
	other := cmpopts.IgnoreFields(attempt{}, "DeliveryID", "EventID", "Payload", "Attempts", "LatencyMs")
	if diff := cmp.Diff(want, got, other); diff != "" {
		t.Errorf("attempt differs (-want +got):\n%s", diff)
	}
	if len(r.got) != 1 {
		t.Errorf("%d samples were sent, want 1", len(r.got))
	}
	s.wantNone(delivery.Prefix)
	r.Close()
	s.do("POST", "/webhook/test", nil).Want(200).JSON(&failed)
	if failed.State != "failed" {
		t.Errorf(`state with the receiver down = %q, want "failed"`, failed.State)
	}
	if failed.Error == "" {
		t.Error("the attempt with the receiver down has no error, want the cause")
	}
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	s.do("POST", "/feed/test", nil).WantProblem(409, "conflict")
	s.do("POST", "/webhook-b/test", nil).WantProblem(404, "not-found")
}
