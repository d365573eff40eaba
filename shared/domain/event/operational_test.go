package event_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/version"
	"orgops/shared/domain/event"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// caused returns the only event of a change.
func caused(t *testing.T, c store.Change) event.Event {
	t.Helper()
	events, err := event.Of(c)
	errtest.Must(t, err)
	if len(events) != 1 {
		t.Fatalf("events %+v, want one", events)
	}
	return events[0]
}

// wantData compares the data of an event.
func wantData(t *testing.T, e event.Event, want string) {
	t.Helper()
	var got, wanted any
	errtest.Must(t, json.Unmarshal(e.Data, &got))
	errtest.Must(t, json.Unmarshal([]byte(want), &wanted))
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("data of %s differs (-want +got):\n%s", e.Type, diff)
	}
}

// TestOf_About checks that an endpoint in trouble does not get the events about its trouble, and gets the others.
func TestOf_About(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		about string
		store.Change
	}{
		{"hook", change("delivery", "DELIVERY#1", "", delivered("dead", "memory.created"))},
		{"hook", change("delivery", "DELIVERY#1", "", turned("memory.created", true))},
		{"x", change("integration", "INTEGRATION#x", endpoint(true), endpoint(false))},
		{"", change("integration", "INTEGRATION#x", `{"state":"sandbox"}`, certified("2026-01-01"))},
	} {
		if e := caused(t, tt.Change); e.About != tt.about {
			t.Errorf("%s is about %q, want %q", e.Type, e.About, tt.about)
		}
	}
}

// TestOf_Dead checks that a dead delivery is told without what its endpoint answered and without its payload.
func TestOf_Dead(t *testing.T) {
	t.Parallel()
	dead := `{"head":{"id":"e","type":"memory.created","endpoint":"hook","state":"dead","made":10,"timestamp":"2026-01-01T00:00:00Z"},
		"log":[{"attempt":10,"state":"failed","at":"2026-01-03T00:00:00Z","status":500,"error":"500","responseExcerpt":"inner"}],"payload":{"a":1}}`
	wantData(t, caused(t, change("delivery", "DELIVERY#1", "", dead)), `{"deliveryId":"e","provider":"hook","event":"memory.created",
		"eventAt":"2026-01-01T00:00:00Z","attempts":10,"lastAttemptAt":"2026-01-03T00:00:00Z","lastStatus":500,"lastError":"500"}`)
}

// TestOf_Removed checks that the event of a removed user shows who left, with the id of a further version.
func TestOf_Removed(t *testing.T) {
	t.Parallel()
	e := caused(t, change("user", "USER#1", `{"id":"1","state":"active"}`, ""))
	wantData(t, e, `{"id":"1","state":"active"}`)
	if last := event.ID(change("user", "USER#1", "", `{}`), event.UserLeft); e.ID != last {
		t.Errorf("id %s, want that of version 2, %s", e.ID, last)
	}
}

// TestOf_Audit checks the fields of OCSF 1.6.0, class API Activity, of a refused request and of an executive's.
func TestOf_Audit(t *testing.T) {
	t.Parallel()
	record := `{"id":"r","at":"2026-01-01T12:00:00.5Z","actor":{"userId":"u","role":"member","tokenId":"j"},"operation":"delete-integration",
		"resource":"integrations/github","outcome":"denied","status":403,"requestId":"q","network":"203.0.113.0/24","omitted":2}`
	metadata := `"metadata":{"version":"1.6.0","uid":"r","tenant_uid":"acme","product":{"name":"orgops","vendor_name":"orgops","version":"` + version.Release + `"}}`
	wantData(t, caused(t, change("audit", "AUDIT#r", "", record)), `{"activity_id":4,"activity_name":"delete","category_uid":6,"class_uid":6003,
		"type_uid":600304,"time":1767268800500,"severity_id":2,"status_id":2,"status_code":"403","status_detail":"denied",
		"actor":{"user":{"uid":"u","type_id":1},"session":{"uid":"j"}},"api":{"operation":"delete-integration","request":{"uid":"q"}},
		"src_endpoint":{"name":"203.0.113.0/24"},"resources":[{"uid":"integrations/github"}],"unmapped":{"role":"member","omitted":2},`+metadata+`}`)
	record = `{"id":"r","at":"2026-01-01T12:00:00Z","actor":{"executiveId":"e","clientId":"c"},"operation":"act","resource":"executives/e/actions",
		"outcome":"success","requestId":"q"}`
	wantData(t, caused(t, change("audit", "AUDIT#r", "", record)), `{"activity_id":99,"activity_name":"act","category_uid":6,"class_uid":6003,
		"type_uid":600399,"time":1767268800000,"severity_id":1,"status_id":1,"status_detail":"success","actor":{"app_uid":"e"},
		"api":{"operation":"act","request":{"uid":"q"}},"src_endpoint":{"name":"local"},"resources":[{"uid":"executives/e/actions"}],
		"unmapped":{"clientId":"c"},`+metadata+`}`)
}
