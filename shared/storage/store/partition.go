package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Partition holds a partition key. Only this package makes partitions, so every partition is of one of the kinds below.
type Partition struct{ key string }

// String returns the key as drivers store it.
func (p Partition) String() string { return p.key }

// CompanyID returns the company that a partition or sub-partition belongs to; ok is false for shared partitions.
func (p Partition) CompanyID() (id string, ok bool) {
	id, ok = strings.CutPrefix(p.key, "C#")
	id, _, _ = strings.Cut(id, "#")
	return id, ok
}

func companyPartition(id string) Partition { return Partition{"C#" + id} }

// Login returns the partition of an e-mail address. It holds the login and the count of recent attempts. The key is a hash
// of the address, so no key holds personal data. Addresses that differ in the case of ASCII letters alone share one. Those that
// Unicode folds into them, as the Kelvin sign into k, are other mailboxes: their owners would share logins.
func Login(email string) Partition {
	sum := sha256.Sum256([]byte(strings.Map(lower, strings.TrimSpace(email))))
	return Partition{"L#" + hex.EncodeToString(sum[:])}
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// Network returns the partition of a network from which logins are tried. It equals no partition of an e-mail address, because Login
// hashes no text with a capital ASCII letter.
func Network(source string) Partition {
	sum := sha256.Sum256([]byte("Network " + source))
	return Partition{"L#" + hex.EncodeToString(sum[:])}
}

// Secret returns the partition of what a secret text leads to, of which only a hash is stored. It equals no partition of an e-mail
// address, because Login hashes no text with a capital ASCII letter.
func Secret(text string) Partition {
	sum := sha256.Sum256([]byte("Secret " + text))
	return Partition{"L#" + hex.EncodeToString(sum[:])}
}

// Identity returns the partition of the login of a user who signs in through an identity provider. key is one of IdentityKey.
func Identity(key string) Partition { return Partition{"L#" + key} }

// IdentityKey returns the key of the login of a company's user, whom the issuer knows as subject. It equals no key of an
// e-mail address, because Login hashes no text with a capital ASCII letter.
func IdentityKey(companyID, issuer, subject string) string {
	hash := sha256.New()
	for _, part := range []string{companyID, issuer, subject} {
		fmt.Fprintf(hash, "Identity %d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// RegistryShards spreads the registry of companies over this many partitions.
const RegistryShards = 16

// Registry returns one shard of the registry of companies. It serves administration and daily jobs, never a request.
func Registry(shard int) Partition { return Partition{fmt.Sprintf("REGISTRY#%02d", shard)} }

// RegistryOf returns the shard of a company.
func RegistryOf(companyID string) Partition {
	return Registry(int(sha256.Sum256([]byte(companyID))[0]) % RegistryShards)
}

// System returns the partition of the process's own bookkeeping, such as the time up to which timers have been read.
func System() Partition { return Partition{"SYSTEM"} }

// Positions returns the partition in which a driver may store a consumer's feed position.
func Positions(consumer string) Partition { return Partition{"FEED#" + consumer} }

// DueShards spreads the timers over this many partitions. 100,000 timers that fire in a minute take 420 write units a second of each. A
// minute without a timer costs one query of each.
const DueShards = 8

// Due returns one shard of the timers, which are in the order of their times.
func Due(shard int) Partition { return Partition{fmt.Sprintf("DUE#%d", shard)} }

// Restore returns the partition with this text. Drivers call it with a key from their backend. It returns false if the text
// is of no known kind.
func Restore(text string) (Partition, bool) {
	for _, prefix := range []string{"C#", "L#", "REGISTRY#", "DUE#", "FEED#", "SYSTEM", "SPREAD"} {
		if strings.HasPrefix(text, prefix) {
			return Partition{text}, true
		}
	}
	return Partition{}, false
}
