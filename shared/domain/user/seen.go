package user

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// Seen remembers where a person has logged in from: networks and browsers, by digests, with the time of the last use.
type Seen struct {
	Networks map[string]time.Time `json:"networks,omitempty"`
	Browsers map[string]time.Time `json:"browsers,omitempty"`
}

// Limits of what Seen remembers.
const (
	seenKept  = 90 * 24 * time.Hour
	seenFresh = 7 * 24 * time.Hour // a use within it is not noted again
	maxSeen   = 20
)

// Note notes a login. changed reports whether the Seen is to be stored, and strange whether the network or the browser was not known, while
// others were. person is the id of the person, so that the digests of two persons differ.
func (s *Seen) Note(person, network, browser string, now time.Time) (changed, strange bool) {
	first := len(s.Networks)+len(s.Browsers) == 0
	moved, newNetwork := note(&s.Networks, person, network, now)
	turned, newBrowser := note(&s.Browsers, person, browser, now)
	return moved || turned, !first && (newNetwork || newBrowser)
}

func note(known *map[string]time.Time, person, text string, now time.Time) (changed, isNew bool) {
	if text == "" {
		return false, false
	}
	all := maps.Clone(*known)
	if all == nil {
		all = map[string]time.Time{}
	}
	maps.DeleteFunc(all, func(_ string, at time.Time) bool { return now.Sub(at) >= seenKept })
	sum := sha256.Sum256([]byte(person + " " + text))
	digest := hex.EncodeToString(sum[:8])
	at, ok := all[digest]
	if ok && now.Sub(at) < seenFresh {
		return false, false
	}
	for len(all) >= maxSeen && !ok {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(all)), func(a, b string) int { return all[a].Compare(all[b]) })
		delete(all, oldest)
	}
	all[digest] = now.UTC()
	*known = all
	return true, !ok
}
