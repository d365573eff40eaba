package genericwebhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/scheme"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

var (
	now                   = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	_   connector.Inbound = (*genericwebhook.Connector)(nil)
	_   connector.Checker = (*genericwebhook.Connector)(nil)
)

func conn() *genericwebhook.Connector { return genericwebhook.New(outbound.New(outbound.Options{})) }

func TestConnector_Sample(t *testing.T) {
	t.Parallel()
	c := conn()
	header, body := c.SampleArrival(nil)
	signed := c.Sign(nil, secret, "sample", scheme.Request{Body: body}, now)
	for name, values := range header {
		signed[name] = values
	}
	id, err := c.Verify(nil, []string{secret}, scheme.Request{Header: signed, Body: body}, now)
	errtest.Must(t, err)
	if id != "sample" {
		t.Errorf("id = %q, want sample", id)
	}
	if _, err := c.Verify(nil, []string{secret}, scheme.Request{Header: header, Body: body}, now); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("unsigned: err = %v, want unauthenticated", err)
	}
	if _, err := c.Verify(nil, []string{secret}, scheme.Request{Header: signed, Body: append(body, ' ')}, now); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("changed: err = %v, want unauthenticated", err)
	}
	actions, err := mapAndValidate(c, body)
	errtest.Must(t, err)
	if len(actions) != 1 {
		t.Fatalf("actions = %+v, want one", actions)
	}
	if actions[0].Memory == nil {
		t.Errorf("action = %+v, want a memory", actions[0])
	}
	if len(c.Sign(nil, "not a secret", "1", scheme.Request{}, now)) != 0 {
		t.Error("signed with an invalid secret")
	}
}

func TestConnector_Map(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name, body string
		want       []connector.Action
	}{
		{"memory", `{"type":"memory.upsert","timestamp":"2026-05-01T12:00:00Z","data":{"externalId":"42","kind":"ticket","title":"Fire","body":"b","url":"https://x","more":1}}`,
			[]connector.Action{{Port: integration.MemoryUpsert, At: "/data", Memory: &memory.Draft{ExternalID: "42", Kind: "ticket", Title: "Fire", Body: "b", URL: "https://x"}}}},
		{"goals", `{"type":"goal.update","data":[{"externalId":"a","title":"A","progress":0.5,"state":"open","dueAt":"2026-06-30T00:00:00Z"},{"externalId":"b","title":"B","state":"closed"}]}`,
			[]connector.Action{
				{Port: integration.GoalUpdate, At: "/data/0", Goal: &goal.Draft{ExternalID: "a", Title: "A", Progress: 0.5, State: goal.Open, DueAt: &due}},
				{Port: integration.GoalUpdate, At: "/data/1", Goal: &goal.Draft{ExternalID: "b", Title: "B", State: goal.Closed}},
			}},
		{"note", `{"type":"timeline.note","data":{"title":"Moved","subject":"office","details":{"to":"Bern"}}}`,
			[]connector.Action{{Port: integration.TimelineNote, At: "/data", Note: &connector.NoteDraft{Title: "Moved", Subject: "office", Details: json.RawMessage(`{"to":"Bern"}`)}}}},
	}
	for _, tt := range tests {
		got, err := mapAndValidate(conn(), []byte(tt.body))
		errtest.Must(t, err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: actions differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// mappings keeps the default mapping compiled, as a process does.
var mappings mapping.Cache

// mapAndValidate handles a body as the service does: by the default mapping, after which intake validates the drafts.
func mapAndValidate(c *genericwebhook.Connector, body []byte) ([]connector.Action, error) {
	m, err := mappings.Default(c)
	if err != nil {
		return nil, err
	}
	d, err := mapping.Read(c, nil, nil, http.Header{}, body)
	if err != nil {
		return nil, err
	}
	matches, err := m.Apply(context.Background(), d)
	if err != nil {
		return nil, err
	}
	actions := mapping.Actions(matches)
	return actions, intake.Validate(actions)
}

func TestConnector_Map_refuses(t *testing.T) {
	t.Parallel()
	item := `{"externalId":"1","title":"t"},`
	tests := []struct {
		name, body string
		kind       fault.Kind
		pointers   []string
	}{
		{"not JSON", `{"type":`, fault.Malformed, nil},
		{"more than one document", `{"type":"memory.upsert","data":{"externalId":"1","title":"t"}} {}`, fault.Malformed, nil},
		{"a list", `[]`, fault.Invalid, []string{""}},
		{"a number for a type", `{"type":1}`, fault.Invalid, []string{"/type"}},
		{"no type", `{}`, fault.Invalid, []string{"/type"}},
		{"another type", `{"type":"memory.delete","data":{}}`, fault.Invalid, []string{"/type"}},
		{"a port without actions", `{"type":"sync.pull","data":{}}`, fault.Invalid, []string{"/type"}},
		{"no data", `{"type":"memory.upsert"}`, fault.Invalid, []string{"/data"}},
		{"data of the wrong type", `{"type":"memory.upsert","data":"x"}`, fault.Invalid, []string{"/data"}},
		{"an empty list", `{"type":"memory.upsert","data":[]}`, fault.Invalid, []string{"/data"}},
		{"a list too long", `{"type":"memory.upsert","data":[` + strings.Repeat(item, connector.MaxActions) + `{}]}`, fault.Invalid, []string{"/data"}},
		{"an empty draft", `{"type":"memory.upsert","data":{}}`, fault.Invalid, []string{"/data/externalId", "/data/title"}},
		{"null in the list", `{"type":"memory.upsert","data":[null]}`, fault.Invalid, []string{"/data/0/externalId", "/data/0/title"}},
		{"every problem", `{"type":"goal.update","data":[{"externalId":"a","title":"A","state":"open"},{"externalId":"b","title":"","progress":2,"state":"done"},{"progress":"x"}]}`,
			fault.Invalid, []string{"/data/1/title", "/data/1/progress", "/data/1/state", "/data/2/progress"}},
		{"a bad time", `{"type":"goal.update","data":{"dueAt":"tomorrow"}}`, fault.Invalid, []string{"/data/dueAt"}},
		{"a note without a title", `{"type":"timeline.note","data":{"details":[1]}}`, fault.Invalid, []string{"/data/title", "/data/details"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := mapAndValidate(conn(), []byte(tt.body))
			var f *fault.Error
			if fault.KindOf(err) != tt.kind {
				t.Fatalf("err = %v, want kind %v", err, tt.kind)
			}
			if !errors.As(err, &f) {
				t.Fatalf("err = %v, want a *fault.Error", err)
			}
			var pointers []string
			for _, p := range f.Problems {
				pointers = append(pointers, p.Pointer)
			}
			if diff := cmp.Diff(tt.pointers, pointers); diff != "" {
				t.Errorf("pointers differ (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzConnector_Map(f *testing.F) {
	f.Add([]byte(`{"type":"memory.upsert","data":{"externalId":"42","kind":"ticket","title":"Fire"}}`))
	f.Add([]byte(`{"type":"goal.update","data":[{"externalId":"a","title":"A","progress":0.5,"state":"open"}]}`))
	f.Add([]byte(`{"type":"timeline.note","data":{"title":"Moved","details":{}}}`))
	f.Add([]byte(`{"type":"memory.upsert","data":[null,1,"x",[]]}`))
	c := conn()
	f.Fuzz(func(t *testing.T, body []byte) {
		actions, err := mapAndValidate(c, body)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Malformed && k != fault.Invalid {
				t.Errorf("err = %v, want malformed or invalid", err)
			}
			return
		}
		if n := len(actions); n < 1 || n > connector.MaxActions {
			t.Errorf("%d actions, want 1 to %d", n, connector.MaxActions)
		}
		for _, a := range actions {
			if a.Memory == nil && a.Goal == nil && a.Note == nil {
				t.Errorf("an action without a draft: %+v", a)
			}
		}
	})
}

func BenchmarkConnector_Map(b *testing.B) {
	body := []byte(fmt.Sprintf(`{"type":"memory.upsert","data":{"externalId":"order-1","kind":"order","title":"Order 1","body":%q}}`, strings.Repeat("x", 200)))
	c := conn()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mapAndValidate(c, body); err != nil {
			b.Fatal(err)
		}
	}
}
