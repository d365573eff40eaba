package token

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cacheSize limits the number of verified tokens in memory. A token takes about 400 bytes.
const cacheSize = 8192

// cache remembers verified tokens by their hash, so that a token is not verified again with every request.
type cache struct {
	mu     sync.RWMutex
	claims map[[sha256.Size]byte]Claims
}

func newCache() *cache { return &cache{claims: map[[sha256.Size]byte]Claims{}} }

func cacheKey(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

func (c *cache) get(key [sha256.Size]byte, now time.Time) (Claims, bool) {
	c.mu.RLock()
	claims, ok := c.claims[key]
	c.mu.RUnlock()
	return claims, ok && now.Before(claims.Expires.Add(leeway))
}

// put adds a token. If the cache is full, put drops the expired tokens and then others until half of the cache is free. A
// dropped token is verified again on its next use.
func (c *cache) put(key [sha256.Size]byte, claims Claims, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.claims) >= cacheSize {
		for k, old := range c.claims {
			if !now.Before(old.Expires.Add(leeway)) {
				delete(c.claims, k)
			}
		}
		for k := range c.claims {
			if len(c.claims) < cacheSize/2 {
				break
			}
			delete(c.claims, k)
		}
	}
	c.claims[key] = claims
}
