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
	kept map[record][]store.Change // by version
	n    int
}

// record names an item of a company.
type record struct{ company, key string }

func recordOf(c store.Change) record { return record{c.Company, c.Key} }

// maxUnpublished limits the changes. Beyond it, unpublished forgets them all: so many fail only in an outage, in which the
// later changes fail too and are redelivered in order.
const maxUnpublished = 4096

func newUnpublished() *unpublished { return &unpublished{kept: map[record][]store.Change{}} }

// upTo returns the changes of a record that must be published now: those kept that are earlier than c, and c.
func (u *unpublished) upTo(c store.Change) []store.Change {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []store.Change
	for _, k := range u.kept[recordOf(c)] {
		if k.Version() < c.Version() {
			all = append(all, k)
		}
	}
	return append(all, c)
}

// keep remembers a change.
func (u *unpublished) keep(c store.Change) {
	u.drop(c)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n >= maxUnpublished {
		clear(u.kept)
		u.n = 0
	}
	u.kept[recordOf(c)] = append(u.kept[recordOf(c)], c)
	slices.SortFunc(u.kept[recordOf(c)], func(a, b store.Change) int { return cmp.Compare(a.Version(), b.Version()) })
	u.n++
}

// drop forgets a change.
func (u *unpublished) drop(c store.Change) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.kept[recordOf(c)]
	left := slices.DeleteFunc(all, func(k store.Change) bool { return k.Version() == c.Version() })
	u.n -= len(all) - len(left)
	if u.kept[recordOf(c)] = left; len(left) == 0 {
		delete(u.kept, recordOf(c))
	}
}
