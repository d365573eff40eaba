package projection_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
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
	h.changes[0].Sequence = "901"
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
