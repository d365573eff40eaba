package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/storage/store"
)

func image(t *testing.T, body any) *store.Image {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return &store.Image{Version: 1, Body: b}
}

func TestDue(t *testing.T) {
	t.Parallel()
	queued := delivery.Delivery{Head: delivery.Head{EventID: "e", Endpoint: "webhook"}, Payload: json.RawMessage(`{"generation":9}`)}
	queued.Enqueue(now)
	postponed := queued
	postponed.Postpone(now.Add(time.Hour))
	again := postponed
	again.Enqueue(now.Add(time.Minute))
	delivered := queued
	delivered.End(delivery.Delivered)
	atOnce := delivery.Delivery{Head: delivery.Head{State: delivery.Delivered}, Payload: json.RawMessage(`{}`)}

	tests := []struct {
		name   string
		change store.Change
		want   *delivery.Job
		due    time.Time
	}{
		{"created and delivered", store.Change{Entity: delivery.Entity, New: image(t, atOnce)}, nil, time.Time{}},
		{"created and enqueued", store.Change{Entity: delivery.Entity, New: image(t, queued)}, &delivery.Job{Company: "a", Delivery: "e#webhook", Generation: 1}, now},
		{"postponed", store.Change{Entity: delivery.Entity, Old: image(t, queued), New: image(t, postponed)}, nil, time.Time{}},
		{"enqueued again", store.Change{Entity: delivery.Entity, Old: image(t, postponed), New: image(t, again)},
			&delivery.Job{Company: "a", Delivery: "e#webhook", Generation: 2}, now.Add(time.Minute)},
		{"delivered", store.Change{Entity: delivery.Entity, Old: image(t, queued), New: image(t, delivered)}, nil, time.Time{}},
		{"expired", store.Change{Entity: delivery.Entity, Old: image(t, queued)}, nil, time.Time{}},
		{"something else", store.Change{Entity: "goal", New: image(t, queued)}, nil, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.change
			if c.Company = "a"; c.Key == "" {
				c.Key = delivery.Key("e", "webhook")
			}
			m, ok, err := delivery.TransitionOf(c).Due()
			if err != nil {
				t.Fatal(err)
			}
			if ok != (tt.want != nil) {
				t.Fatalf("Due reports ok = %t, want %t", ok, tt.want != nil)
			}
			if !ok {
				return
			}
			var got delivery.Job
			if err := json.Unmarshal(m.Body, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*tt.want, got); diff != "" {
				t.Errorf("job differs (-want +got):\n%s", diff)
			}
			if !m.Due.Equal(tt.due) {
				t.Errorf("due at %v, want %v", m.Due, tt.due)
			}
			if m.Group != "a" {
				t.Errorf("group %q, want the company", m.Group)
			}
		})
	}
}

func TestDue_Unreadable(t *testing.T) {
	t.Parallel()
	odd := &store.Image{Body: json.RawMessage(`{"generation":"x"}`)}
	_, ok, err := delivery.TransitionOf(store.Change{Entity: delivery.Entity, New: odd}).Due()
	if err == nil {
		t.Error("Due of an unreadable delivery: no error, want one")
	}
	if ok {
		t.Error("Due of an unreadable delivery reports ok")
	}
}
