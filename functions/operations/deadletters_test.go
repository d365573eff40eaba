package operations_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/operations"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func (c *company) deadLetters(query string) (ids []string) {
	c.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items      []operations.DeadLetter
			NextCursor string
		}
		c.Do("GET", path(c.Harness, "/dead-letters?"+query+cursor), c.A.Token, nil).Want(200).JSON(&page)
		for _, d := range page.Items {
			ids = append(ids, d.DeliveryID)
		}
		if page.NextCursor == "" {
			return ids
		}
		cursor = "&cursor=" + page.NextCursor
	}
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	c.endpoint("webhook")
	ago := func(d time.Duration) time.Time { return noon().Add(-d) }
	old := c.deliver("webhook-gone", "goal.updated", ago(20*24*time.Hour), delivery.Dead)
	last := c.deliver("webhook", "memory.updated", ago(50*time.Hour), delivery.Dead)
	c.deliver("webhook", "memory.updated", ago(49*time.Hour), delivery.Delivered)
	c.deliver("webhook", "memory.updated", ago(10*time.Hour), delivery.Held)
	next := c.deliver("webhook", "memory.created", ago(2*time.Hour), delivery.Dead)
	newest := c.deliver("webhook-b", "memory.created", ago(time.Hour), delivery.Dead)
	c.learn()
	text := func(at time.Time) string { return url.QueryEscape(at.Format(time.RFC3339)) }
	tests := []struct {
		name, query string
		want        []string
	}{
		{"all", "", []string{newest, next, last, old}},
		{"in pages", "limit=1", []string{newest, next, last, old}},
		{"of an endpoint", "provider=webhook", []string{next, last}},
		{"of an event", "event=memory.created", []string{newest, next}},
		{"since", "since=" + text(ago(3*time.Hour)), []string{newest, next}},
		{"until", "limit=1&until=" + text(ago(90*time.Minute)), []string{next, last, old}},
		{"a window without any", "since=" + text(ago(40*time.Hour)) + "&until=" + text(ago(30*time.Hour)), nil},
		{"of no endpoint", "provider=github", nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, c.deadLetters(tt.query)); diff != "" {
			t.Errorf("%s: dead letters differ (-want +got):\n%s", tt.name, diff)
		}
	}
	var page struct{ Items []operations.DeadLetter }
	c.Do("GET", path(c.Harness, "/dead-letters?limit=1"), c.A.Token, nil).Want(200).JSON(&page)
	want := operations.DeadLetter{
		Provider: "webhook-b", DeliveryID: newest, Event: "memory.created", EventAt: ago(time.Hour), At: ago(time.Hour), Attempts: 10, Status: 500,
		Error: "answered 500", ResponseExcerpt: "boom", Href: "/companies/" + c.A.ID + "/integrations/webhook-b/deliveries/" + newest,
	}
	if diff := cmp.Diff(want, page.Items[0]); diff != "" {
		t.Errorf("dead letter differs (-want +got):\n%s", diff)
	}
	c.Do("GET", path(c.Harness, "/dead-letters?since="+text(noon())+"&until="+text(ago(time.Hour))), c.A.Token, nil).WantProblem(422, "invalid")
}

// TestDeadLetters_Many lists each dead letter once, over many pages of other deliveries.
func TestDeadLetters_Many(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	var want []string
	for n := range 400 {
		at := noon().Add(-time.Duration(n) * 3 * time.Hour)
		state := delivery.Delivered
		if n%7 == 0 {
			state = delivery.Dead
		}
		if made := c.deliver("webhook", "memory.created", at, state); state == delivery.Dead && at.After(noon().Add(-delivery.Kept)) {
			want = append(want, made)
		}
	}
	c.learn()
	for _, query := range []string{"limit=3", "limit=100"} {
		got := c.deadLetters(query)
		if len(got) < len(want) { // those about to expire may be listed too
			t.Fatalf("%s: %d dead letters, want at least %d", query, len(got), len(want))
		}
		if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
			t.Errorf("%s: dead letters differ (-want +got):\n%s", query, diff)
		}
	}
}

// TestReplay_Many replays the dead letters of more endpoints than one commit has room for.
func TestReplay_Many(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	for n := range store.MaxOps + 1 {
		c.endpoint(fmt.Sprintf("webhook-%03d", n))
		c.deliver(fmt.Sprintf("webhook-%03d", n), "memory.created", noon().Add(-time.Hour), delivery.Dead)
	}
	c.learn()
	var got operations.Replay
	c.Do("POST", path(c.Harness, "/dead-letters/replay"), c.A.Token, map[string]any{"since": noon().Add(-2 * time.Hour)}).Want(202).JSON(&got)
	stored := 0
	for _, err := range c.items().Items(t.Context(), store.Query{Prefix: recovery.Prefix}) {
		errtest.Must(t, err)
		stored++
	}
	if want := [2]int{store.MaxOps + 1, store.MaxOps + 1}; [2]int{len(got.Recoveries), stored} != want {
		t.Errorf("%d recoveries in the answer and %d in the store, want %v", len(got.Recoveries), stored, want)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	c := of(t, setup(t))
	for _, provider := range []string{"webhook", "webhook-b", "webhook-fine"} {
		c.endpoint(provider)
	}
	for _, provider := range []string{"webhook", "webhook-b", "webhook-gone"} {
		c.deliver(provider, "memory.created", noon().Add(-time.Hour), delivery.Dead)
	}
	c.learn()
	since := noon().Add(-2 * time.Hour)
	replay := func(body map[string]any) (providers []string) {
		t.Helper()
		var got operations.Replay
		c.Do("POST", path(c.Harness, "/dead-letters/replay"), c.A.Token, body).Want(202).JSON(&got)
		for _, r := range got.Recoveries {
			providers = append(providers, r.Provider)
			want := recovery.Recovery{Provider: r.Provider, Since: since, Until: noon(), Only: delivery.Dead, State: recovery.Requested, RequestedBy: c.A.UserID, RequestedAt: noon()}
			if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(recovery.Recovery{}, "ID")); diff != "" {
				t.Errorf("recovery differs (-want +got):\n%s", diff)
			}
			var stored recovery.Stored
			_, err := c.items().Get(t.Context(), recovery.Key(r.ID), &stored)
			errtest.Must(t, err)
			if diff := cmp.Diff(r, stored.Recovery); diff != "" {
				t.Errorf("stored recovery differs (-want +got):\n%s", diff)
			}
		}
		return providers
	}
	if diff := cmp.Diff([]string{"webhook", "webhook-b"}, replay(map[string]any{"since": since})); diff != "" {
		t.Errorf("endpoints differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"webhook-fine"}, replay(map[string]any{"since": since, "provider": "webhook-fine"})); diff != "" {
		t.Errorf("the endpoint that was asked for differs (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		body    map[string]any
		pointer string
	}{
		{map[string]any{}, "/since"},
		{map[string]any{"since": noon().Add(time.Second)}, "/since"},
		{map[string]any{"since": since, "until": since.Add(-time.Second)}, "/until"},
		{map[string]any{"since": since, "provider": "webhook-gone"}, "/provider"},
	} {
		p := c.Do("POST", path(c.Harness, "/dead-letters/replay"), c.A.Token, tt.body).WantProblem(422, "invalid")
		if p.Errors[0].Pointer != tt.pointer {
			t.Errorf("%v: problems %+v, want one at %s", tt.body, p.Errors, tt.pointer)
		}
	}
	page, err := store.For(c.Store, c.B.ID).Query(t.Context(), store.Query{Prefix: recovery.Prefix})
	errtest.Must(t, err)
	if len(page.Items) != 0 {
		t.Errorf("the other company has %d recoveries, want none", len(page.Items))
	}
}
