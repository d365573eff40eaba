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
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
)

const maxProviders = 57

func remember(h *history, provider, key string) {
	h.put(memory.Entity, memory.Key(provider+key), memory.Memory{ID: provider + key, Provider: provider})
}

// changing makes the history of a company with many short-lived webhooks. Each is configured, gets memories, a sync and a
// dead letter, and is deleted. Only the first stays, and its data are older than those of all others.
func changing(t *testing.T, providers int) *history {
	t.Helper()
	h := newHistory()
	for n := range providers {
		h.after(time.Duration(n%2) * time.Hour) // two share a time, so that their names decide
		provider := fmt.Sprintf("webhook-%d", n)
		i := webhook(h.now)
		i.Provider = provider
		h.put(integration.Entity, integration.Key(provider), i)
		remember(h, provider, "a")
		remember(h, provider, "b")
		h.put(syncrun.Entity, syncrun.Key(provider), syncrun.StoredRun{
			Run: syncrun.Run{ID: id.At(h.now, provider), Provider: provider, Mode: syncrun.Live, State: syncrun.Succeeded},
		})
		d := newDelivery(h.now, n, provider)
		d.Log(delivery.Attempt{State: delivery.Failed, At: h.now})
		d.End(delivery.Dead)
		h.deliver(d)
		if n > 0 {
			h.remove(integration.Entity, integration.Key(provider))
		}
	}
	return h
}

// returning makes a history in which dropped webhooks get memories again, while the webhooks dropped in their place lose
// some.
func returning(t *testing.T) *history {
	t.Helper()
	h := changing(t, maxProviders+10)
	for n := range 30 {
		h.after(time.Minute)
		remember(h, fmt.Sprint("webhook-", n+1), "c")
		h.remove(memory.Entity, memory.Key(fmt.Sprintf("webhook-%da", n+12)))
	}
	return h
}

// checkMemories compares the total with the wanted one and with the sum of all entries, none of which may be negative.
func checkMemories(t *testing.T, m projection.Memory, want int64) {
	t.Helper()
	if m.Total != want {
		t.Errorf("total = %d memories, want %d", m.Total, want)
	}
	var sum int64
	for name, p := range m.Providers {
		if p.Count < 0 {
			t.Errorf("%s counts %d memories, want 0 or more", name, p.Count)
		}
		sum += p.Count
	}
	if sum != m.Total {
		t.Errorf("sum of all entries = %d memories, want the total %d", sum, m.Total)
	}
}

func TestFold_Former(t *testing.T) {
	t.Parallel()
	const providers = 150
	h := changing(t, providers)
	p, _ := h.fold(t)
	sizes, wantSizes := [...]int{len(p.Memory.Providers), len(p.Syncs), len(p.Deliveries.Endpoints)}, [...]int{maxProviders, maxProviders, maxProviders}
	if sizes != wantSizes {
		t.Errorf("memory entries, syncs and endpoints = %v, want %v", sizes, wantSizes)
	}
	type kept struct {
		memories int64
		synced   bool
		dead     int
	}
	for _, name := range []string{"webhook-0", fmt.Sprint("webhook-", providers-1), fmt.Sprint("webhook-", providers-maxProviders+2)} {
		got := kept{p.Memory.Providers[name].Count, p.Syncs[name].Run != "", p.Deliveries.Endpoints[name].Dead.Total()}
		if want := (kept{2, true, 1}); got != want {
			t.Errorf("%s = %+v, want %+v", name, got, want)
		}
	}
	checkUnknown(t, p, "webhook-1")
	former := p.Memory.Providers["former"]
	if got, want := former.Count, int64(2*(providers-maxProviders+1)); got != want {
		t.Errorf("former counts %d memories, want %d", got, want)
	}
	if former.LastSyncedAt.IsZero() {
		t.Error("former has no LastSyncedAt, want the last of all dropped providers")
	}
	checkMemories(t, p.Memory, 2*providers)
}

// checkUnknown reports an error if the memories of a dropped provider have an entry.
func checkUnknown(t *testing.T, p projection.Context, provider string) {
	t.Helper()
	if m, known := p.Memory.Providers[provider]; known {
		t.Errorf("%s = %+v, want no entry for a dropped provider", provider, m)
	}
}

// TestFold_Former_Returns checks that a dropped provider's old memories are subtracted from the entry former, and that its
// new memories count in its own entry.
func TestFold_Former_Returns(t *testing.T) {
	t.Parallel()
	h := changing(t, 150)
	before, _ := h.fold(t)
	h.remove(memory.Entity, memory.Key("webhook-1a"))
	p, _ := h.fold(t)
	checkUnknown(t, p, "webhook-1")
	checkMemories(t, p.Memory, before.Memory.Total-1)
	i := webhook(h.now)
	i.Provider = "webhook-1"
	h.put(integration.Entity, integration.Key(i.Provider), i)
	remember(h, i.Provider, "c")
	p, _ = h.fold(t)
	if got := p.Memory.Providers["webhook-1"].Count; got != 1 {
		t.Errorf("memories after its return = %d, want 1", got)
	}
	checkMemories(t, p.Memory, before.Memory.Total)
	h.remove(memory.Entity, memory.Key("webhook-1b"))
	h.remove(memory.Entity, memory.Key("webhook-1c"))
	p, _ = h.fold(t)
	if got := p.Memory.Providers["webhook-1"].Count; got != 0 {
		t.Errorf("memories after all removals = %d, want 0", got)
	}
	checkMemories(t, p.Memory, before.Memory.Total-2)
}

// TestFold_Escapes checks that the bounds of texts hold for the stored JSON, where a character may take six bytes.
func TestFold_Escapes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.put(integration.Entity, integration.Key("webhook"), webhook(h.now))
	for _, char := range []string{"<", "\"", "\x01", "\u2028", "ü", "a"} {
		h.put(goal.Entity, "GOAL#1", goal.Goal{ID: "1", Provider: "webhook", Title: strings.Repeat(char, 500), State: goal.Open})
		p, _ := h.fold(t)
		title := p.Goals.Listed[0].Title
		raw, err := json.Marshal(title)
		errtest.Must(t, err)
		if title == "" {
			t.Errorf("%q: the title is empty, want its first characters", char)
		}
		if most := 256 + len(`""`); len(raw) > most {
			t.Errorf("%q: %d bytes as JSON, want %d at most", char, len(raw), most)
		}
	}
}

// TestFold_Own counts and lists the company's own goals, which have no integration.
func TestFold_Own(t *testing.T) {
	t.Parallel()
	h := newHistory()
	g, _ := goal.Apply(goal.Goal{}, goal.Own, goal.Draft{ExternalID: "revenue", Title: "Revenue", State: goal.Open}, h.now)
	h.put(goal.Entity, goal.Key(g.ID), g)
	p, _ := h.fold(t)
	if want := (projection.GoalCounts{Open: 1, Aligned: 1}); p.Goals.GoalCounts != want {
		t.Errorf("counts %+v, want %+v", p.Goals.GoalCounts, want)
	}
	if len(p.Goals.Listed) != 1 {
		t.Errorf("%d goals listed, want 1", len(p.Goals.Listed))
	}
	h.remove(goal.Entity, goal.Key(g.ID))
	if p, _ = h.fold(t); p.Goals.Open+len(p.Goals.Listed) != 0 {
		t.Errorf("%+v after its deletion, want nothing", p.Goals)
	}
}
