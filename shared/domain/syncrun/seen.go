package syncrun

import (
	"context"
	"fmt"
	"time"

	"orgops/shared/storage/store"
)

// SeenEntity names the entity of the items that list what the pages of a full run have shown, one for each page. They expire
// by themselves.
const SeenEntity = "sync-seen"

// seenKept limits how long a run's lists are kept. A run with throttles takes days at most.
const seenKept = 30 * 24 * time.Hour

const seenPrefix = "SYNCSEEN#"

// seen holds the digests of a page's items. Two ids with the same digest keep an item that is gone, no more.
type seen struct {
	IDs Digests `json:"ids"`
}

// See returns the write that stores which items a page of a run has shown.
func See(c store.Company, run Run, page int, ids []string) store.Op {
	s := seen{IDs: Digests(nil).Add(ids...)}
	return c.Create(fmt.Sprintf("%s%s#%08d", seenPrefix, run.ID, page), SeenEntity, s).Until(run.RequestedAt.Add(seenKept)).Quietly()
}

// Seen holds the items that a run has shown.
type Seen map[digest]struct{}

// LoadSeen reads the lists of all pages of a run.
func LoadSeen(ctx context.Context, c store.Company, runID string) (Seen, error) {
	all := Seen{}
	for item, err := range c.Items(ctx, store.Query{Prefix: seenPrefix + runID + "#"}) {
		if err != nil {
			return nil, err
		}
		var s seen
		if err := item.Decode(&s); err != nil {
			return nil, err
		}
		all.add(s.IDs)
	}
	return all, nil
}

func (s Seen) add(more Digests) {
	for d := range more.all() {
		s[d] = struct{}{}
	}
}

// Has reports whether the run has shown an item.
func (s Seen) Has(id string) bool {
	_, ok := s[digestOf(id)]
	return ok
}
