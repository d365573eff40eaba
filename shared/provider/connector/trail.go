package connector

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
)

// trailed is how many of the last pages a trail remembers, and trailSize the length of what it keeps of each.
const (
	trailed   = 64
	trailSize = 8
)

// Trail remembers which pages of a list a run has read, in the space of a checkpoint: the first page, the last 64, and one of
// the others, which it moves so that a cycle of any length is found (Brent's algorithm). The zero Trail remembers none.
type Trail struct {
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"` // one after the other
	Mark  string `json:"mark,omitempty"`
	Pages int    `json:"pages,omitempty"` // how many have been read
}

// Add remembers a page by what names it, such as its address. repeated reports that the run has read the page before.
func (t Trail) Add(page string) (added Trail, repeated bool) {
	sum := sha256.Sum256([]byte(page))
	name := base64.RawURLEncoding.EncodeToString(sum[:])[:trailSize]
	if name == t.First || name == t.Mark || slices.Contains(names(t.Last), name) {
		return t, true
	}
	if t.First == "" {
		t.First = name
	} else {
		t.Last += name
	}
	if over := len(t.Last) - trailed*trailSize; over > 0 {
		t.Last = t.Last[over:]
	}
	if t.Pages++; t.Pages > trailed && t.Pages&(t.Pages-1) == 0 { // a power of two
		t.Mark = name
	}
	return t, false
}

func names(list string) (all []string) {
	for ; len(list) >= trailSize; list = list[trailSize:] {
		all = append(all, list[:trailSize])
	}
	return all
}
