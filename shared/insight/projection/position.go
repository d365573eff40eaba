package projection

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// Position is that of the last applied change in a shard of the feed.
type Position struct {
	Sequence store.Sequence `json:"sequence" doc:"the change's number in its shard"`
	At       time.Time      `json:"at" doc:"when the table stored the change"`
}

// positionKept sets how long the position in a shard is kept after its last change. The stream keeps a record for 24 hours. Later no
// change up to the position can come again.
const positionKept = 25 * time.Hour

// has reports whether a change was folded. A feed with one part has no shards, and its position is Applied. A shard's changes come in
// order the first time. So one number tells which of them were folded, also if a batch comes again.
func (p *Context) has(c store.Change) bool {
	if c.Shard == "" {
		return c.Sequence.Compare(p.Applied) <= 0
	}
	return c.Sequence.Compare(p.Shards[shortName(c.Shard)].Sequence) <= 0
}

// covers reports whether a change that was not folded is in the context, because it was stored before a rebuild read the records.
func (p *Context) covers(c store.Change) bool { return c.Shard != "" && c.Stored.Before(p.Rebuilt) }

// pass records that a change was applied, and drops positions that are no longer needed.
func (f *folding) pass(c store.Change) {
	f.Applied = c.Sequence
	if c.Shard == "" {
		return
	}
	if !f.moved {
		f.Shards, f.moved = maps.Clone(f.Shards), true
	}
	if f.Shards == nil {
		f.Shards = map[string]Position{}
	}
	f.Shards[shortName(c.Shard)] = Position{c.Sequence, c.Stored.UTC().Truncate(time.Second)}
	newest := f.newest()
	maps.DeleteFunc(f.Shards, func(_ string, p Position) bool { return p.At.Before(newest.Add(-positionKept)) })
}

// newest returns the latest time of a position. It is the table's, so no writer's clock decides for how long a position is kept.
func (p *Context) newest() (newest time.Time) {
	for _, at := range p.Shards {
		newest = wait.Later(newest, at.At)
	}
	return newest
}

// Scattered reports whether changes came by several shards within a minute. A shard also follows another one each few hours.
func (p Context) Scattered() bool {
	newest, recent := p.newest(), 0
	for _, at := range p.Shards {
		if newest.Sub(at.At) < time.Minute {
			recent++
		}
	}
	return recent > 1
}

// shortName returns a short name of a shard, for a context has some of them in its last 25 hours.
func shortName(shard string) string {
	sum := sha256.Sum256([]byte(shard))
	return base64.RawURLEncoding.EncodeToString(sum[:8])
}

// Unplaced returns the context without what is about the feed that it was folded from.
func (p Context) Unplaced() Context {
	p.Applied, p.Shards, p.Gathers, p.Rebuilt, p.Rebuilding = "", nil, false, time.Time{}, Rebuilding{}
	return p
}

// Shown returns what a context shows: nothing about the feed, and no sizes. It changes with ContextVersion alone.
func (p Context) Shown() Context {
	p = p.Unplaced()
	p.Sizes = nil
	return p
}
