package syncrun

import (
	"context"
	"crypto/sha256"
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

// seen packs 8 bytes of the digest of each id of a page's items. Two ids with the same bytes keep an item that is gone, no more.
type seen struct {
	IDs []byte `json:"ids"`
}

const packed = 8

// See returns the write that stores which items a page of a run has shown.
func See(c store.Company, run Run, page int, ids []string) store.Op {
	var s seen
	for _, id := range ids {
		b := pack(id)
		s.IDs = append(s.IDs, b[:]...)
	}
	return c.Create(fmt.Sprintf("%s%s#%08d", seenPrefix, run.ID, page), SeenEntity, s).Until(run.RequestedAt.Add(seenKept)).Quietly()
}

func pack(id string) [packed]byte {
	sum := sha256.Sum256([]byte(id))
	return [packed]byte(sum[:packed])
}

// Seen holds the items that a run has shown.
type Seen map[[packed]byte]struct{}

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
		for n := 0; n+packed <= len(s.IDs); n += packed {
			all[[packed]byte(s.IDs[n:n+packed])] = struct{}{}
		}
	}
	return all, nil
}

// Has reports whether the run has shown an item.
func (s Seen) Has(id string) bool {
	_, ok := s[pack(id)]
	return ok
}
