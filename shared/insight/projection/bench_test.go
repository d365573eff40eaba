package projection_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

func BenchmarkFold(b *testing.B) {
	for _, bb := range []struct {
		name string
		fill func(*history, int)
	}{
		{"delivered", func(h *history, n int) {
			d := newDelivery(h.now, n, "webhook")
			d.Payload = json.RawMessage(`{"text":"` + strings.Repeat("x", 500) + `"}`)
			h.deliver(d)
			d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now, Status: 200, LatencyMS: 1})
			d.End(delivery.Delivered)
			h.deliver(d)
		}},
		{"memory", func(h *history, n int) {
			h.put(memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{ID: fmt.Sprint(n), Provider: "github", Body: strings.Repeat("x", 2000)})
		}},
		{"event", publish},
		{"goal", func(h *history, n int) {
			due := h.now.Add(48 * time.Hour)
			g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: fmt.Sprint(n % 5), Title: "T", Progress: float64(n%100) / 100, DueAt: &due, State: goal.Open}, h.now)
			h.put(goal.Entity, goal.Key(g.ID), g)
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h := newHistory()
			h.put(integration.Entity, integration.Key("webhook"), webhook(h.now))
			for n := 0; len(h.changes) < 257; n++ {
				bb.fill(h, n)
			}
			start, _, failed := projection.Fold(projection.Empty("acme"), h.changes[:1])
			if err := failed.Err(); err != nil {
				b.Fatal(err)
			}
			changes := h.changes[1:]
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, _, failed := projection.Fold(start, changes); failed != nil {
					b.Fatal(failed.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(changes)), "ns/change")
		})
	}
	b.Run("one", func(b *testing.B) { // a batch of one change bears the whole cost of the copy
		p, changes := typical(b), []store.Change{{Sequence: "999999", Entity: memory.Entity, Key: "MEMORY#1", At: noon(), New: &store.Image{Version: 1, Body: json.RawMessage(`{"provider":"feed"}`)}}}
		b.ReportAllocs()
		for range b.N {
			if _, _, failed := projection.Fold(p, changes); failed != nil {
				b.Fatal(failed.Err())
			}
		}
	})
}

// publish makes the changes of one event in local/measure/bench: a memory of 300 bytes, delivered by the first attempt.
func publish(h *history, n int) {
	m := memory.Memory{
		ID: id.At(h.now, "m"), Provider: "webhook", ExternalID: fmt.Sprint("n-", n), Kind: "ticket", Title: fmt.Sprint("Ticket ", n),
		Body: strings.Repeat("x", 180), URL: fmt.Sprint("https://example.com/tickets/", n), ContentHash: strings.Repeat("h", 43),
		CreatedAt: h.now, UpdatedAt: h.now,
	}
	h.put(memory.Entity, memory.Key(fmt.Sprint(n)), m)
	d := newDelivery(h.now, n, "webhook")
	payload := map[string]any{"id": d.EventID, "type": d.Event, "timestamp": h.now, "companyId": d.EventID, "data": m}
	d.Payload, _ = json.Marshal(payload)
	d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now, Status: 200, LatencyMS: 1})
	d.End(delivery.Delivered)
	h.deliver(d)
}

// typical makes the context of a company in use: four connectors, ten goals, ten entries, three days of deliveries, few of
// them waiting.
func typical(b testing.TB) projection.Context {
	h := busy(80)
	for n := range 10 {
		due := h.now.Add(48 * time.Hour)
		g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: fmt.Sprint(n), Title: "Reach a goal", DueAt: &due, State: goal.Open}, h.now)
		h.put(goal.Entity, goal.Key(g.ID), g)
	}
	for n := range 3 * 24 * 12 {
		h.after(5 * time.Minute)
		d := newDelivery(h.now, n, "webhook")
		d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now})
		d.End(delivery.Delivered)
		h.deliver(d)
	}
	p, entries, failed := projection.Fold(projection.Empty("acme"), h.changes)
	if err := failed.Err(); err != nil {
		b.Fatal(err)
	}
	p.Timeline = entries[len(entries)-projection.MaxTimeline:]
	p.Deliveries.Pending = p.Deliveries.Pending[:min(len(p.Deliveries.Pending), 3)]
	return p
}

// contexts makes the contexts for the benchmarks of encoding and decoding.
func contexts(b testing.TB) map[string]projection.Context {
	return map[string]projection.Context{"small": small(b), "typical": typical(b), "large": large(b, integration.MaxPerCompany)}
}

// small makes the context of a company that has just connected one endpoint and received its first memories.
func small(b testing.TB) projection.Context {
	h := newHistory()
	h.put(integration.Entity, integration.Key("webhook"), webhook(h.now))
	for n := range 10 {
		remember(h, "webhook", fmt.Sprint(n))
		d := newDelivery(h.now, n, "webhook")
		d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now})
		d.End(delivery.Delivered)
		h.deliver(d)
	}
	p, _, failed := projection.Fold(projection.Empty("acme"), h.changes)
	if err := failed.Err(); err != nil {
		b.Fatal(err)
	}
	return p
}

func BenchmarkEncode(b *testing.B) {
	for name, p := range contexts(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := json.Marshal(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, p := range contexts(b) {
		raw, err := json.Marshal(p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(float64(len(raw)), "bytes")
			b.ReportAllocs()
			for range b.N {
				var p projection.Context
				if err := p.UnmarshalJSON(raw); err != nil { // as Load does
					b.Fatal(err)
				}
			}
		})
	}
}
