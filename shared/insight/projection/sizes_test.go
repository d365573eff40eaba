package projection_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// sized adds up the steps of each kind.
func sized(p projection.Context) map[string][2]int64 {
	all := map[string][2]int64{}
	for entity, steps := range p.Sizes {
		for _, s := range steps {
			all[entity] = [2]int64{all[entity][0] + s.Items, all[entity][1] + s.Bytes}
		}
	}
	return all
}

// TestFold_Sizes counts the records that grow with use by the time at which they were begun, with the bytes of their last version, until
// they have expired. Their removal counts nothing.
func TestFold_Sizes(t *testing.T) {
	t.Parallel()
	h := newHistory()
	body := map[string]string{"text": "x"}
	first := h.put(policy.Entity, policy.Prefix+id.At(h.now, "a"), body)
	other := h.after(time.Hour).put(policy.Entity, policy.Prefix+id.At(h.now, "b"), body)
	h.put(audit.Entity, "AUDIT#"+id.At(h.now, "c"), body)
	h.put(executive.RecordEntity, "EXECUTIVEACTION#chief#"+id.At(h.now, "d"), body)
	d := newDelivery(h.now, 1, "webhook")
	h.deliver(d)
	d.Log(delivery.Attempt{State: delivery.Delivered, At: h.now})
	d.End(delivery.Delivered)
	h.deliver(d)
	p, _ := h.fold(t)
	got := sized(p)
	last := h.changes[len(h.changes)-1]
	want := map[string][2]int64{
		policy.Entity: {2, int64(len(first.New.Body) + len(other.New.Body))}, audit.Entity: {1, int64(len(first.New.Body))},
		executive.RecordEntity: {1, int64(len(first.New.Body))}, delivery.Entity: {1, int64(len(last.New.Body))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items and bytes (-want +got):\n%s", diff)
	}
	version := p.ContextVersion
	gone := first
	gone.Sequence, gone.Old, gone.New = "900", first.New, nil
	p, _, failed := projection.Fold(p, []store.Change{gone})
	errtest.Must(t, failed.Err())
	if p.ContextVersion != version {
		t.Errorf("contextVersion = %d after the removal of a decision, want %d", p.ContextVersion, version)
	}
	h.changes = nil
	h.after(policy.Kept+policy.Kept/6).put(audit.Entity, "AUDIT#"+id.At(h.now, "e"), body)
	h.put(memory.Entity, memory.Key("1"), memory.Memory{Provider: "feed"})
	h.changes[0].Sequence, h.changes[1].Sequence = "901", "902"
	p, _, failed = projection.Fold(p, h.changes)
	errtest.Must(t, failed.Err())
	if diff := cmp.Diff(map[string][2]int64{audit.Entity: {2, 2 * int64(len(first.New.Body))}}, sized(p)); diff != "" {
		t.Errorf("items and bytes after decisions and deliveries have expired (-want +got):\n%s", diff)
	}
	rebuilt, failures := projection.Rebuild(p, nil)
	errtest.Must(t, failures.Err())
	if diff := cmp.Diff(p.Sizes, rebuilt.Sizes); diff != "" {
		t.Errorf("sizes after a rebuild (-folded +rebuilt):\n%s", diff)
	}
}

// TestFold_Decided counts the decisions of which a receipt tells, those of a repeat as well.
func TestFold_Decided(t *testing.T) {
	t.Parallel()
	h := newHistory()
	key := arrival.ReceiptPrefix(arrival.Owner{Provider: "github"}) + "1"
	h.put(arrival.ReceiptEntity, key, arrival.Receipt{Decided: &arrival.Decided{Items: 2, Bytes: 800}})
	h.put(arrival.ReceiptEntity, key, arrival.Receipt{Decided: &arrival.Decided{Items: 1, Bytes: 400}})
	h.put(policy.Entity, policy.Prefix+id.At(h.now, "b"), struct{}{})
	p, _ := h.fold(t)
	if got, want := sized(p)[policy.Entity], [2]int64{4, 1202}; got != want {
		t.Errorf("decisions %v, want %v items and bytes", got, want)
	}
}

// TestFold_Unseen folds changes of which the context shows nothing: the sizes count them, each once, and neither the version nor the time of
// the context moves.
func TestFold_Unseen(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.put(memory.Entity, memory.Key("1"), memory.Memory{Provider: "feed"})
	before, _ := h.fold(t)
	h.changes = nil
	h.after(time.Hour).put(audit.Entity, "AUDIT#"+id.At(h.now, "a"), struct{}{})
	h.put(policy.Entity, policy.Prefix+id.At(h.now, "b"), struct{}{})
	h.put(executive.RecordEntity, "EXECUTIVEACTION#chief#"+id.At(h.now, "c"), struct{}{})
	h.put(arrival.ReceiptEntity, arrival.ReceiptPrefix(arrival.Owner{Provider: "github"})+"1", arrival.Receipt{Denied: true})
	for n := range h.changes {
		h.changes[n].Sequence = store.Sequence(fmt.Sprint(10 + n))
	}
	after, entries, failed := projection.Fold(before, slices.Concat(h.changes, h.changes))
	errtest.Must(t, failed.Err())
	if len(entries) > 0 {
		t.Errorf("entries %+v, want none", entries)
	}
	items := map[string]int64{}
	for entity, size := range sized(after) {
		items[entity] = size[0]
	}
	want := map[string]int64{audit.Entity: 1, policy.Entity: 1, executive.RecordEntity: 1, arrival.ReceiptEntity: 1}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if !after.Differs(before) {
		t.Error("the context with other sizes does not differ from the one before, so it is not stored")
	}
	if diff := cmp.Diff(before.Shown(), after.Shown()); diff != "" {
		t.Errorf("what the context shows (-before +after):\n%s", diff)
	}
	again, _, failed := projection.Fold(after, h.changes)
	errtest.Must(t, failed.Err())
	if again.Differs(after) {
		t.Error("a repetition changes the context")
	}
}
