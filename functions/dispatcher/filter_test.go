package dispatcher_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/selection"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// selects sets the filter and the transformation of an endpoint.
func (r *running) selects(company, provider, filter, transform string) {
	r.T.Helper()
	r.configure(company, provider, map[string]any{"filter": filter, "transform": transform})
}

// configure sets fields of an endpoint's configuration.
func (r *running) configure(company, provider string, fields map[string]any) {
	r.T.Helper()
	r.Change(company, provider, func(i *integration.Integration) {
		var config map[string]any
		errtest.Must(r.T, json.Unmarshal(i.Config, &config))
		maps.Copy(config, fields)
		var err error
		i.Config, err = json.Marshal(config)
		errtest.Must(r.T, err)
	})
}

// selected returns the counts of an endpoint's filter, without the day.
func (r *running) selected(company, provider string) []selection.Counts {
	r.T.Helper()
	i, _, err := integration.Load(r.T.Context(), r.Company(company), provider)
	errtest.Must(r.T, err)
	days, err := selection.List(r.T.Context(), r.Company(company), i)
	errtest.Must(r.T, err)
	return days
}

// TestDispatcher_Filter checks that each endpoint gets the events that its filter lets through, with the body that its transformation
// gives, and that an expression which fails holds its own delivery alone, also of an ordered endpoint.
func TestDispatcher_Filter(t *testing.T) {
	t.Parallel()
	r := start(t)
	plain, some, ordered := r.Receive(), r.Receive(), r.Receive()
	some.Transformed = true
	r.Subscribe("a", "webhook", plain, "memory.*")
	r.Subscribe("a", "webhook-some", some, "memory.*")
	r.selects("a", "webhook-some", `.data.title == "Memory 2"`, `{text: .data.title, type}`)
	r.Register(worktest.Endpoint{Company: "a", Provider: "webhook-ordered", URL: ordered.URL, Secrets: ordered.Secrets, Events: []string{"memory.*"}, Ordered: true})
	r.selects("a", "webhook-ordered", `if .data.title == "Memory 2" then "yes" else .data.title == "none" end`, "")

	for n := 1; n <= 3; n++ {
		r.rememberAs("a", n, []string{"", "Memory 1", "Memory 2", "Memory 3"}[n])
	}
	r.wantSettled("a", states{delivery.Delivered: 3 + 1, delivery.Held: 1})
	r.wantReceived(plain, 3)
	r.wantReceived(ordered, 0)
	got := some.Next()
	if diff := cmp.Diff(`{"text":"Memory 2","type":"memory.created"}`, string(got.Body)); diff != "" {
		t.Errorf("transformed body differs (-want +got):\n%s", diff)
	}
	want := delivery.Head{
		State: delivery.Held, HeldBecause: delivery.HeldFilter, Whole: true,
		HeldDetail: `the filter gives a text; it must give true or false, such as .data.kind == "issue"`,
	}
	for _, d := range r.deliveries("a") {
		if d.State != delivery.Held {
			continue
		}
		if diff := cmp.Diff(want, d.Head, cmpopts.IgnoreFields(delivery.Head{}, "EventID", "Event", "CreatedAt", "Endpoint", "Line")); diff != "" {
			t.Errorf("held delivery differs (-want +got):\n%s", diff)
		}
		if !strings.Contains(string(d.Payload), `"type":"memory.created"`) {
			t.Errorf("payload of the held delivery %s, want that of the event", d.Payload)
		}
	}
	ignored := cmpopts.IgnoreFields(selection.Counts{}, "Date")
	counted := []selection.Counts{{Matched: 1, Filtered: 2}}
	worktest.Until(t, "the counts are stored", func() bool { return cmp.Equal(counted, r.selected("a", "webhook-some"), ignored) })
	if diff := cmp.Diff(counted, r.selected("a", "webhook-some"), ignored); diff != "" {
		t.Errorf("counts differ (-want +got):\n%s", diff)
	}
	failed := []selection.Counts{{Filtered: 2, Failed: 1, Reason: want.HeldDetail}}
	worktest.Until(t, "the failure is stored", func() bool { return cmp.Equal(failed, r.selected("a", "webhook-ordered"), ignored) })
	if diff := cmp.Diff(failed, r.selected("a", "webhook-ordered"), ignored); diff != "" {
		t.Errorf("counts of the ordered endpoint differ (-want +got):\n%s", diff)
	}
}

// TestDispatcher_FilterFails checks that the notifier is asked once to tell of a filter that fails, however many events it fails on.
func TestDispatcher_FilterFails(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Subscribe("a", "webhook", r.Receive(), "memory.*")
	r.selects("a", "webhook", `"yes"`, "")
	for n := 1; n <= 3; n++ {
		r.rememberAs("a", n, "Memory")
		r.wantSettled("a", states{delivery.Held: n})
	}
	r.wantTold("a selection-failed selection:webhook")
}

// wantTold checks what the notifier was asked to tell.
func (r *running) wantTold(want ...string) {
	r.T.Helper()
	var told []string
	worktest.Until(r.T, "the notifier is asked", func() bool {
		all, err := r.Notices.Receive(r.T.Context(), 10, time.Minute)
		errtest.Must(r.T, err)
		for _, one := range all {
			var job notice.Job
			errtest.Must(r.T, json.Unmarshal(one.Body, &job))
			told = append(told, job.Company+" "+job.Matter.Name+" "+job.Matter.About)
		}
		return len(told) >= len(want)
	})
	slices.Sort(told)
	if diff := cmp.Diff(want, told); diff != "" {
		r.T.Errorf("what the notifier shall tell (-want +got):\n%s", diff)
	}
}
