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
)

const maxProviders = 60

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

// sum adds up the memories of all entries. It reports an error for a negative count.
func sum(t *testing.T, m projection.Memory) (n int64) {
	t.Helper()
	for name, p := range m.Providers {
		if p.Count < 0 {
			t.Errorf("%s counts %d memories", name, p.Count)
		}
		n += p.Count
	}
	return n
}

func TestFold_Former(t *testing.T) {
	t.Parallel()
	const providers = 150
	h := changing(t, providers)
	p, _ := h.fold(t)
	if m, s, e := len(p.Memory.Providers), len(p.Syncs), len(p.Deliveries.Endpoints); m != maxProviders || s != maxProviders || e != maxProviders {
		t.Errorf("%d memory entries, %d syncs, %d endpoints, want %d of each", m, s, e, maxProviders)
	}
	for _, name := range []string{"webhook-0", fmt.Sprint("webhook-", providers-1), fmt.Sprint("webhook-", providers-maxProviders+2)} {
		if p.Memory.Providers[name].Count != 2 || p.Syncs[name].Run == "" || p.Deliveries.Endpoints[name].Dead.Total() != 1 {
			t.Errorf("%s: %+v, %+v, %+v", name, p.Memory.Providers[name], p.Syncs[name], p.Deliveries.Endpoints[name])
		}
	}
	if _, known := p.Memory.Providers["webhook-1"]; known {
		t.Error("the oldest former provider is still listed")
	}
	if former := p.Memory.Providers["former"]; former.Count != 2*(providers-maxProviders+1) || former.LastSyncedAt.IsZero() {
		t.Errorf("former: %+v", former)
	}
	if p.Memory.Total != 2*providers || sum(t, p.Memory) != p.Memory.Total {
		t.Errorf("total %d, sum %d", p.Memory.Total, sum(t, p.Memory))
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
	if _, known := p.Memory.Providers["webhook-1"]; known || p.Memory.Total != before.Memory.Total-1 || sum(t, p.Memory) != p.Memory.Total {
		t.Errorf("after a removal: known %v, total %d, sum %d", known, p.Memory.Total, sum(t, p.Memory))
	}
	i := webhook(h.now)
	i.Provider = "webhook-1"
	h.put(integration.Entity, integration.Key(i.Provider), i)
	remember(h, i.Provider, "c")
	if p, _ = h.fold(t); p.Memory.Providers["webhook-1"].Count != 1 || sum(t, p.Memory) != p.Memory.Total {
		t.Errorf("after its return: %+v, total %d, sum %d", p.Memory.Providers["webhook-1"], p.Memory.Total, sum(t, p.Memory))
	}
	h.remove(memory.Entity, memory.Key("webhook-1b"))
	h.remove(memory.Entity, memory.Key("webhook-1c"))
	p, _ = h.fold(t)
	if p.Memory.Providers["webhook-1"].Count != 0 || p.Memory.Total != before.Memory.Total-2 || sum(t, p.Memory) != p.Memory.Total {
		t.Errorf("after all removals: %+v, total %d, sum %d", p.Memory.Providers["webhook-1"], p.Memory.Total, sum(t, p.Memory))
	}
}

// TestFold_Escapes checks that the bounds of texts hold for the stored JSON, where a character may take six bytes.
func TestFold_Escapes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for _, char := range []string{"<", "\"", "\x01", "\u2028", "ü", "a"} {
		h.put(goal.Entity, "GOAL#1", goal.Goal{ID: "1", Title: strings.Repeat(char, 500), State: goal.Open})
		p, _ := h.fold(t)
		title := p.Goals.Listed[0].Title
		raw, err := json.Marshal(title)
		if err != nil || title == "" || len(raw) > 256+len(`""`) {
			t.Errorf("%q: %d bytes as JSON: %v", char, len(raw), err)
		}
	}
}
