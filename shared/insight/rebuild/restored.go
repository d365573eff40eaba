package rebuild

import (
	"context"
	"maps"
	"slices"
	"time"

	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// Restored rebuilds a company's context in a restored table, which no service uses yet. The context's positions are those of the
// former table's stream, which say nothing about the new stream, so the new context has none. The records may hold
// changes that the context lacks, because the projector followed them within seconds. Restored is idempotent.
func Restored(ctx context.Context, c store.Company, now func() time.Time) (Outcome, error) {
	r := &rebuilding{c: c, now: now, records: map[string]store.Item{}}
	if err := r.read(ctx, func(int) {}); err != nil {
		return Outcome{}, err
	}
	old, version, err := projection.Load(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	old = old.Unplaced()
	next, failed := projection.Rebuild(old, slices.Collect(maps.Values(r.records)))
	out := Outcome{Company: c.ID(), Records: len(r.records), ContextVersion: next.ContextVersion}
	if err := failed.Err(); err != nil {
		out.Damaged = err.Error()
	}
	return out, c.Commit(ctx, projection.Save(c, version, next))
}
