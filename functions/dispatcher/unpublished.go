package dispatcher

import (
	"cmp"
	"slices"
	"sync"

	"orgops/shared/storage/store"
)

// unpublished keeps the changes whose deliveries could not be submitted, because the endpoints could not be read. They are
// redelivered, but a later change of the same record may come first. Its events must then follow those of the earlier one.
type unpublished struct {
	mu   sync.Mutex
	kept []store.Change
}

// maxUnpublished limits the changes. Beyond it, unpublished forgets them all: so many fail only in an outage, in which the
// later changes fail too and are redelivered in order.
const maxUnpublished = 4096

// upTo returns the changes of a record that must be published now: those kept that are earlier than c, and c.
func (u *unpublished) upTo(c store.Change) []store.Change {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := []store.Change{c}
	for _, k := range u.kept {
		if k.Company == c.Company && k.Key == c.Key && k.Version() < c.Version() {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b store.Change) int { return cmp.Compare(a.Version(), b.Version()) })
	return all
}

// note keeps a change, or forgets it once it is published.
func (u *unpublished) note(c store.Change, published bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = slices.DeleteFunc(u.kept, func(k store.Change) bool {
		return k.Company == c.Company && k.Key == c.Key && k.Version() == c.Version()
	})
	if published {
		return
	}
	if len(u.kept) >= maxUnpublished {
		u.kept = nil
	}
	u.kept = append(u.kept, c)
}
