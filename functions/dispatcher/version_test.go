package dispatcher_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
)

// TestDispatcher_Versions checks that each endpoint gets an event in the version that it has chosen, with a filter and a transformation
// that read this version, and that the next one follows when it has ended.
func TestDispatcher_Versions(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.events = event.Table{{Name: event.MemoryCreated, Former: []event.Former{{
		Ends: r.Clock.Now().Add(time.Hour), Data: func(data json.RawMessage) (json.RawMessage, error) {
			var next struct{ Title string }
			err := json.Unmarshal(data, &next)
			return json.RawMessage(`{"headline":"` + next.Title + `"}`), err
		},
	}}}}
	r = setupOn(r)
	r.run(r.Store)
	first, second, absent, some := r.Receive(), r.Receive(), r.Receive(), r.Receive()
	some.Transformed = true
	r.Subscribe("a", "webhook-first", first, "memory.*")
	r.configure("a", "webhook-first", map[string]any{"eventVersions": map[string]int{event.MemoryCreated: 1}})
	r.Subscribe("a", "webhook-second", second, "memory.*")
	r.configure("a", "webhook-second", map[string]any{"eventVersions": map[string]int{event.MemoryCreated: 2}})
	r.Subscribe("a", "webhook-absent", absent, "memory.*")
	r.Subscribe("a", "webhook-some", some, "memory.*")
	r.selects("a", "webhook-some", `.data.headline == "Title 1"`, `{text: .data.headline}`)

	r.remember("a", 1)
	r.wantSettled("a", states{delivery.Delivered: 4})
	was := first.Next()
	for name, got := range map[string]json.RawMessage{"the first version": was.Data, "no choice": absent.Next().Data} {
		if diff := cmp.Diff(`{"headline":"Title 1"}`, string(got)); diff != "" {
			t.Errorf("%s: data differ (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(`{"text":"Title 1"}`, string(some.Next().Body)); diff != "" {
		t.Errorf("the transformed body of the first version differs (-want +got):\n%s", diff)
	}
	newest := second.Next()
	var data struct{ Title, Headline string }
	errtest.Must(t, json.Unmarshal(newest.Data, &data))
	if data.Title != "Title 1" {
		t.Errorf("data of the second version %s, want those of the memory", newest.Data)
	}
	if newest.ID != was.ID {
		t.Errorf("id of the second version %s, want that of the first, %s", newest.ID, was.ID)
	}
	versions := map[string]int{}
	for _, d := range r.deliveries("a") {
		versions[d.Endpoint] = d.Version
	}
	if diff := cmp.Diff(map[string]int{"webhook-first": 1, "webhook-second": 2, "webhook-absent": 1, "webhook-some": 1}, versions); diff != "" {
		t.Errorf("recorded versions differ (-want +got):\n%s", diff)
	}

	r.Clock.Advance(time.Hour)
	r.remember("a", 2)
	r.wantSettled("a", states{delivery.Delivered: 4 + 3})
	data.Title = ""
	errtest.Must(t, json.Unmarshal(first.Next().Data, &data))
	if data.Title != "Title 2" {
		t.Errorf("title after the first version has ended %q, want that of the second version, Title 2", data.Title)
	}
}
