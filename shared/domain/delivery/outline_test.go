package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/testkit/errtest"
)

// outline has the members of a delivery that are needed most often.
type outline struct {
	State         delivery.State `json:"state"`
	Made          int            `json:"made"`
	HeldBecause   string         `json:"heldBecause"`
	NextAttemptAt *time.Time     `json:"nextAttemptAt"`
}

// log adds the attempts.
type log struct {
	outline
	Attempts []delivery.Attempt `json:"attempts"`
}

// FuzzUnmarshalOutline finds in a stored delivery what json.Unmarshal finds, with any payload and any attempts.
func FuzzUnmarshalOutline(f *testing.F) {
	f.Add([]byte(`{"state":"dead","attempts":[{"state":"failed"}],"made":7}`), "ok", "webhook", true)
	f.Add([]byte(`{"data":{"id":1,"payload":{"x":1,"made":2},"attempts":[]},"made":3}`), `{"a":1,"made":4}`, "webhook-a", false)
	f.Add([]byte(`[1,{"a":1,"attempts":[{"made":1}]}]`), `,"made":9`, "webhook", false)
	f.Add([]byte(`"x"`), `,"payload":`, `{"`, true)
	f.Fuzz(func(t *testing.T, payload []byte, excerpt, endpoint string, attempted bool) {
		d := delivery.Delivery{
			EventID: "e", Endpoint: endpoint, Event: "memory.created", State: delivery.Held, Payload: payload,
			Made: 2, HeldBecause: excerpt, NextAttemptAt: new(now.Add(time.Hour)), CreatedAt: now,
		}
		if attempted {
			d.Attempts = []delivery.Attempt{{Number: 1, State: delivery.Failed, At: now, Excerpt: excerpt}, {Number: 2, State: delivery.Delivered, At: now}}
		}
		body, err := json.Marshal(d)
		if err != nil {
			t.Skip("the payload is not JSON")
		}
		var want, got log
		errtest.Must(t, json.Unmarshal(body, &want))
		errtest.Must(t, delivery.UnmarshalLog(body, &got))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(log{})); diff != "" {
			t.Errorf("UnmarshalLog(%s) differs (-want +got):\n%s", body, diff)
		}
		var short outline
		errtest.Must(t, delivery.UnmarshalOutline(body, &short))
		if diff := cmp.Diff(want.outline, short); diff != "" {
			t.Errorf("UnmarshalOutline(%s) differs (-want +got):\n%s", body, diff)
		}
		if state := delivery.StateOf(body); state != delivery.Held {
			t.Errorf("StateOf(%s) = %q, want %q", body, state, delivery.Held)
		}
	})
}

// TestStateOf finds the delivery's own state in any text, and none in a text that has none.
func TestStateOf(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]delivery.State{
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
	body, err := json.Marshal(delivery.Delivery{EventID: "e", Endpoint: "webhook", State: delivery.Delivered, Payload: payload, Attempts: make([]delivery.Attempt, 3), Made: 3})
	errtest.Must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if delivery.StateOf(body) != delivery.Delivered {
			b.Fatal("wrong state")
		}
	}
}
