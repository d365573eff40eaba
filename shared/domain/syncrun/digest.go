package syncrun

import (
	"crypto/sha256"
	"iter"
	"slices"
)

// digest holds the first 8 bytes of an id's SHA-256.
type digest [8]byte

func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:len(digest{})])
}

// Digests lists items in little space: the digests of their ids, one after the other.
type Digests []byte

// Add returns the list with more items.
func (d Digests) Add(ids ...string) Digests {
	for _, id := range ids {
		b := digestOf(id)
		d = append(d, b[:]...)
	}
	return d
}

// Len returns the number of items.
func (d Digests) Len() int { return len(d) / len(digest{}) }

// Has reports whether the list has an item.
func (d Digests) Has(id string) bool {
	want := digestOf(id)
	for have := range d.all() {
		if have == want {
			return true
		}
	}
	return false
}

// Set returns the items for many look-ups.
func (d Digests) Set() Seen {
	set := Seen{}
	set.add(d)
	return set
}

// without returns the list without the items of another one.
func (d Digests) without(other Digests) Digests {
	dropped := other.Set()
	var left Digests
	for have := range d.all() {
		if _, ok := dropped[have]; !ok {
			left = append(left, have[:]...)
		}
	}
	return left
}

func (d Digests) all() iter.Seq[digest] {
	return func(yield func(digest) bool) {
		for b := range slices.Chunk(d, len(digest{})) {
			if len(b) < len(digest{}) || !yield(digest(b)) {
				return
			}
		}
	}
}
