package delivery_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/testkit/errtest"
)

// head has the members of a head that are needed most often.
type head struct {
	State         delivery.State `json:"state"`
	Made          int            `json:"made"`
	HeldBecause   string         `json:"heldBecause"`
	NextAttemptAt *time.Time     `json:"nextAttemptAt"`
}

// flat is the form of a delivery of release 0.1.0.
type flat struct {
	EventID       string             `json:"eventId"`
	Endpoint      string             `json:"endpoint"`
	Event         string             `json:"event"`
	State         delivery.State     `json:"state"`
	Payload       json.RawMessage    `json:"payload"`
	Attempts      []delivery.Attempt `json:"attempts,omitempty"`
	Made          int                `json:"made"`
	NextAttemptAt *time.Time         `json:"nextAttemptAt,omitempty"`
	HeldBecause   string             `json:"heldBecause,omitempty"`
	CreatedAt     time.Time          `json:"createdAt"`
}

// FuzzDelivery stores deliveries with any payload and any attempts, and reads them whole and in parts. It also reads the former form.
func FuzzDelivery(f *testing.F) {
	f.Add([]byte(`{"state":"dead","attempts":[{"state":"failed"}],"made":7}`), "ok", "webhook", true)
	f.Add([]byte(`{"head":{"state":"dead"},"attempts":[],"payload":{}}`), `{"a":1,"made":4}`, "webhook-a", false)
	f.Add([]byte(`[1,{"a":1,"attempts":[{"made":1}]}]`), `,"made":9`, "webhook", false)
	f.Add([]byte(`"x"`), `,"payload":`, `{"`, true)
	f.Fuzz(func(t *testing.T, payload []byte, excerpt, endpoint string, attempted bool) {
		d := delivery.Delivery{
			Head: delivery.Head{
				EventID: "e", Endpoint: endpoint, Event: "memory.created", State: delivery.Held, Made: 2, HeldBecause: excerpt,
				NextAttemptAt: new(now.Add(time.Hour)), CreatedAt: now,
			},
			Payload: payload,
		}
		if attempted {
			d.Attempts = []delivery.Attempt{{Number: 1, State: delivery.Failed, At: now, Excerpt: excerpt}, {Number: 2, State: delivery.Delivered, At: now}}
		}
		if !json.Valid(payload) {
			return
		}
		former := flat{d.EventID, d.Endpoint, d.Event, d.State, d.Payload, d.Attempts, d.Made, d.NextAttemptAt, d.HeldBecause, d.CreatedAt}
		for _, form := range []any{d, former} {
			body, err := json.Marshal(form)
			errtest.Must(t, err)
			wantParts(t, body, d.Head)
		}
	})
}

// wantParts compares the parts of a stored delivery, each read alone, with the whole of it.
func wantParts(t *testing.T, body []byte, stored delivery.Head) {
	t.Helper()
	var whole delivery.Delivery
	errtest.Must(t, json.Unmarshal(body, &whole))
	read := whole.Head
	read.HeldBecause, read.Endpoint = stored.HeldBecause, stored.Endpoint // JSON replaces what is not UTF-8
	if diff := cmp.Diff(stored, read); diff != "" {
		t.Errorf("head of %s (-stored +read):\n%s", body, diff)
	}
	again, err := json.Marshal(whole)
	errtest.Must(t, err)
	var same delivery.Delivery
	errtest.Must(t, json.Unmarshal(again, &same))
	if diff := cmp.Diff(whole, same); diff != "" {
		t.Errorf("%s, stored again, differs (-before +after):\n%s", body, diff)
	}
	var got, short head
	var attempts []delivery.Attempt
	errtest.Must(t, delivery.DecodeLog(body, &got, &attempts))
	errtest.Must(t, delivery.DecodeHead(body, &short))
	want := head{State: whole.State, Made: whole.Made, HeldBecause: whole.HeldBecause, NextAttemptAt: whole.NextAttemptAt}
	if diff := cmp.Diff([]head{want, want}, []head{got, short}); diff != "" {
		t.Errorf("heads of %s (-want +got):\n%s", body, diff)
	}
	if diff := cmp.Diff(whole.Attempts, attempts); diff != "" {
		t.Errorf("attempts of %s (-want +got):\n%s", body, diff)
	}
	if state := delivery.StateOf(body); state != delivery.Held {
		t.Errorf("StateOf(%s) = %q, want %q", body, state, delivery.Held)
	}
}

// TestDelivery_Members stores the members in the order in which readers need them, and reads them in any order.
func TestDelivery_Members(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(delivery.Delivery{Attempts: make([]delivery.Attempt, 1), Payload: []byte(`{}`)})
	errtest.Must(t, err)
	if form := regexp.MustCompile(`^{"head":{[^{]*},"log":\[{[^{]*}\],"payload":{}}$`); !form.Match(body) {
		t.Errorf("a delivery is stored as %s, want its head, its log and its payload: %s", body, form)
	}
	var d delivery.Delivery
	errtest.Must(t, json.Unmarshal([]byte(`{"payload":{"head":{}},"log":[{"attempt":3}],"head":{"id":"e"}}`), &d))
	want := delivery.Delivery{Head: delivery.Head{EventID: "e"}, Attempts: []delivery.Attempt{{Number: 3}}, Payload: []byte(`{"head":{}}`)}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("delivery with its members in another order (-want +got):\n%s", diff)
	}
}

// TestStateOf finds the delivery's own state in any text, and none in a text that has none.
func TestStateOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]delivery.State{
		`{"head":{"state":"held"},"payload":{"state":"dead"}}`:                                   delivery.Held,
		`{"payload":{"head":{"state":"dead"}},"head":{"state":"held"}}`:                          delivery.Held,
		`{"head":{"state":"held"},"payload":{`:                                                   delivery.Held, // what follows the head is not read
		`{"head":{"state":1},"state":"held"}`:                                                    "",
		`{"head":null,"state":"held"}`:                                                           "",
		`{"head":{`:                                                                              "",
		`{"state":"held","payload":{"state":"dead"},"made":1}`:                                   delivery.Held,
		`{"payload":{"state":"dead","made":1},"made":1,"state":"held"}`:                          delivery.Held,
		`{"a":{"b":1,"payload":0},"state":"held","c":{"d":1,"made":5}}`:                          delivery.Held,
		`{"event":",\"payload\":","payload":"held","state":"held"}`:                              delivery.Held,
		`{"state":"held","payload":{"data":{"x":1,"made":1}}}`:                                   delivery.Held,
		`{"state":"held","payload":{"data":{"x":1,"attempts":[],"made":1},"state":"delivered"}}`: delivery.Held,
		`{"state":"held"}`:                  delivery.Held,
		`{"data":{"state":"delivered"}}`:    "",
		`{"state":1,"payload":{},"made":1}`: "",
		`{"state":"delivered","payload":{`:  "",
		`null`:                              "",
		``:                                  "",
	} {
		if got := delivery.StateOf([]byte(body)); got != want {
			t.Errorf("StateOf(%s) = %q, want %q", body, got, want)
		}
	}
}

// BenchmarkStateOf reads the state of a delivery with a payload of a usual size.
func BenchmarkStateOf(b *testing.B) {
	payload, err := json.Marshal(map[string]any{"id": "e", "type": "memory.created", "data": map[string]string{"body": string(make([]byte, 400))}})
	errtest.Must(b, err)
	body, err := json.Marshal(delivery.Delivery{Head: delivery.Head{EventID: "e", Endpoint: "webhook", State: delivery.Delivered, Made: 3}, Payload: payload, Attempts: make([]delivery.Attempt, 3)})
	errtest.Must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if delivery.StateOf(body) != delivery.Delivered {
			b.Fatal("wrong state")
		}
	}
}
