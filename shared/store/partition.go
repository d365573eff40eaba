package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Partition is a partition key. Only this package makes one, so each is one of the kinds below.
type Partition struct{ key string }

// String is the key as drivers store it.
func (p Partition) String() string { return p.key }

// CompanyID is the company that a partition belongs to; ok is false for the shared ones.
func (p Partition) CompanyID() (id string, ok bool) { return strings.CutPrefix(p.key, "C#") }

func companyPartition(id string) Partition { return Partition{"C#" + id} }

// Login is the partition of one e-mail address: its login and the count of recent tries. The address is hashed, so
// that a key never holds personal data.
func Login(email string) Partition {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(email))))
	return Partition{"L#" + hex.EncodeToString(sum[:])}
}

// RegistryShards is how many partitions the registry of companies is spread over.
const RegistryShards = 16

// Registry is one shard of the registry of companies: for administration and daily work, never for a request.
func Registry(shard int) Partition { return Partition{fmt.Sprintf("REGISTRY#%02d", shard)} }

// RegistryOf is the shard of a company.
func RegistryOf(companyID string) Partition {
	return Registry(int(sha256.Sum256([]byte(companyID))[0]) % RegistryShards)
}

// System is the partition of the process's own bookkeeping, such as how far the timers have been read.
func System() Partition { return Partition{"SYSTEM"} }

// Positions is the partition in which a driver may keep how far a consumer of the feed has come.
func Positions(consumer string) Partition { return Partition{"FEED#" + consumer} }

// DueShards is how many partitions an hour's timers are spread over.
const DueShards = 4

// Due is one shard of the timers of an hour.
func Due(hour time.Time, shard int) Partition {
	return Partition{fmt.Sprintf("DUE#%s#%d", hour.UTC().Format("2006010215"), shard)}
}

// Restore is the partition with this text, for drivers that read it back from their backend; ok is false when the
// text is not a partition's.
func Restore(text string) (Partition, bool) {
	for _, prefix := range []string{"C#", "L#", "REGISTRY#", "DUE#", "FEED#", "SYSTEM"} {
		if strings.HasPrefix(text, prefix) {
			return Partition{text}, true
		}
	}
	return Partition{}, false
}
