package connector

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
)

// trailed is how many of the last pages a trail remembers well, and trailSize the length of what it keeps of each. Of maxSteps pages it
// remembers stepSize characters each.
const (
	trailed   = 64
	trailSize = 8
	maxSteps  = 4096
	stepSize  = 3
)

// Trail remembers which pages of a list a run has read, in the space of a checkpoint. It finds the first page and the last 64 at once,
// and the last 4,096 with the page that follows: two short names in a row hardly occur twice by chance, and a page costs three bytes. It
// also keeps one of the pages before, which it moves so that a cycle of any length is found (Brent's algorithm). The zero Trail
// remembers none.
type Trail struct {
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`  // one after the other
	Steps string `json:"steps,omitempty"` // the beginnings of the names, one after the other
	Mark  string `json:"mark,omitempty"`
	Pages int    `json:"pages,omitempty"` // how many have been read
}

// Add remembers a page by what names it, such as its address. repeated reports that the run has read the page before, or the two last
// pages one after the other.
func (t Trail) Add(page string) (added Trail, repeated bool) {
	sum := sha256.Sum256([]byte(page))
	name := base64.RawURLEncoding.EncodeToString(sum[:])[:trailSize]
	if name == t.First || name == t.Mark || slices.Contains(names(t.Last), name) || t.again(name[:stepSize]) {
		return t, true
	}
	t.Steps = newest(t.Steps+name[:stepSize], maxSteps*stepSize)
	if t.First == "" {
		t.First = name
	} else {
		t.Last = newest(t.Last+name, trailed*trailSize)
	}
	if t.Pages++; t.Pages > trailed && t.Pages&(t.Pages-1) == 0 { // a power of two
		t.Mark = name
	}
	return t, false
}

// again reports whether the last page and a page after it have been read in this order before.
func (t Trail) again(step string) bool {
	last := len(t.Steps) - stepSize
	for at := 0; at+2*stepSize <= last; at += stepSize {
		if t.Steps[at:at+stepSize] == t.Steps[last:] && t.Steps[at+stepSize:at+2*stepSize] == step {
			return true
		}
	}
	return false
}

// newest returns the end of a list, at most so many bytes of it.
func newest(list string, most int) string { return list[max(0, len(list)-most):] }

func names(list string) (all []string) {
	for ; len(list) >= trailSize; list = list[trailSize:] {
		all = append(all, list[:trailSize])
	}
	return all
}
