package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/id"
)

// Spreader spreads the items of a company over sub-partitions of its key. A driver whose backend serves one key as fast as many does
// not implement it.
type Spreader interface {
	// Spread announces that from a moment some minutes ahead new items of the company lie in this many sub-partitions, one of
	// PartCounts. Items never move. Spread changes nothing if at least as many have been announced. It returns the announced number.
	Spread(ctx context.Context, company string, parts int) (int, error)
	// Parts returns in how many sub-partitions the new items of a company lie now: in one, if it was never spread.
	Parts(ctx context.Context, company string) (int, error)
}

// PartCounts returns the numbers of sub-partitions that a company can have, in order. Each is a multiple of the one before, so an item
// often has the same sub-partition in several.
func PartCounts() []int { return []int{1, 8, 64} }

// Together returns the prefixes of the keys that stay under the company's own key: what people configure, and what one item or a few
// say about a provider or about the company. All other items grow with use, so they spread. A noun that is missing here by mistake
// costs a spread company some reads more, and no throughput.
func Together() []string {
	return []string{
		"APPROVAL#", "CERTIFICATION#", "CLIENT#", "COMPANY", "CONTEXT", "CREDENTIAL#", "ENDED#", "EXECUTIVE#", "GATE#", "INBOUNDRATE", "INBOXES#",
		"INTEGRATION#", "INVITATION#", "KEY", "MANIFEST#", "MAPPING#", "NOTICE", "POLICIES", "RECOMMENDATION#", "REFUSALS#", "SSO", "SYNCSLOT#", "USER#",
	}
}

// Dated returns the prefixes of the keys that hold the time at which the service began their item, as a UUIDv7, and before which part
// of the key it stands. The time gives the number of sub-partitions, so such an item is never searched.
func Dated() map[string]int {
	return map[string]int{
		"AUDIT#": 1, "DECISION#": 1, "DELIVERY#": 1, "EXECUTIVEACTION#": 2, "INBOX#": 2, "RECOVERY#": 1, "SYNC#": 1, "SYNCSEEN#": 1, "TIMELINE#": 1,
	}
}

// Spreads reports whether items whose keys begin with this prefix may lie in sub-partitions. A whole key is a prefix too.
func Spreads(prefix string) bool {
	return !slices.ContainsFunc(Together(), func(stays string) bool { return strings.HasPrefix(prefix, stays) })
}

// DateOf returns the time in a key of one of the prefixes Dated. ok is false for any other key.
func DateOf(key string) (at time.Time, ok bool) {
	prefix, _, _ := strings.Cut(key, "#")
	n := Dated()[prefix+"#"]
	parts := strings.Split(key, "#")
	if n == 0 || n >= len(parts) {
		return time.Time{}, false
	}
	return id.Time(parts[n])
}

// PartOf returns which of a number of sub-partitions an item lies in.
func PartOf(key string, parts int) int { return int(sha256.Sum256([]byte(key))[0]) % parts }

// Part returns a sub-partition of a company's partition.
func (p Partition) Part(n int) Partition { return Partition{fmt.Sprintf("%s#%02d", p.key, n)} }

// Spread returns the partition in which a Spreader keeps the sub-partitions of all companies that have some.
func Spread() Partition { return Partition{"SPREAD"} }
