package projection_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/delivery"
	"orgops/shared/goal"
	"orgops/shared/memory"
	"orgops/shared/projection"
	"orgops/shared/store"
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
			d.Record(delivery.Attempt{State: delivery.Delivered, At: h.now, Status: 200, LatencyMS: 1})
			d.End(delivery.Delivered)
			h.deliver(d)
		}},
		{"memory", func(h *history, n int) {
			h.put(memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{ID: fmt.Sprint(n), Provider: "github", Body: strings.Repeat("x", 2000)})
		}},
		{"goal", func(h *history, n int) {
			due := h.now.Add(48 * time.Hour)
			g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: fmt.Sprint(n % 5), Title: "T", Progress: float64(n%100) / 100, DueAt: &due, State: goal.Open}, h.now)
			h.put(goal.Entity, goal.Key(g.ID), g)
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h := newHistory()
			h.put("integration", "INTEGRATION#webhook", webhook(h.now))
			for n := 0; len(h.changes) < 257; n++ {
				bb.fill(h, n)
			}
			start, _, err := projection.Fold(projection.Empty("acme"), h.changes[:1])
			if err != nil {
				b.Fatal(err)
			}
			changes := h.changes[1:]
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, _, err := projection.Fold(start, changes); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(changes)), "ns/change")
		})
	}
	b.Run("one", func(b *testing.B) { // a batch of a single change pays for the copy alone
		p, changes := typical(b), []store.Change{{Sequence: "999999", Entity: memory.Entity, Key: "MEMORY#1", At: noon(), New: &store.Image{Version: 1, Body: json.RawMessage(`{"provider":"feed"}`)}}}
		b.ReportAllocs()
		for range b.N {
			if _, _, err := projection.Fold(p, changes); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// typical is a company in use: four connectors, ten goals, ten entries, three days of deliveries, little waiting.
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
		d.Record(delivery.Attempt{State: delivery.Delivered, At: h.now})
		d.End(delivery.Delivered)
		h.deliver(d)
	}
	p, entries, err := projection.Fold(projection.Empty("acme"), h.changes)
	if err != nil {
		b.Fatal(err)
	}
	p.Timeline = entries[len(entries)-projection.MaxTimeline:]
	p.Deliveries.Pending = p.Deliveries.Pending[:min(len(p.Deliveries.Pending), 3)]
	return p
}

func BenchmarkEncode(b *testing.B) {
	p := typical(b)
	b.ReportAllocs()
	for range b.N {
		if _, err := json.Marshal(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	raw, err := json.Marshal(typical(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(raw)), "bytes")
	b.ReportAllocs()
	for range b.N {
		var p projection.Context
		if err := p.UnmarshalJSON(raw); err != nil { // as Load does
			b.Fatal(err)
		}
	}
}
