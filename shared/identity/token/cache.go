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
	tokens map[[sha256.Size]byte]remembered
}

// remembered holds the claims of a verified token, and when the token ends.
type remembered struct {
	claims Claims
	until  time.Time
}

// remember ends with the token or with the key that signed it, whichever ends first.
func remember(claims Claims, key period) remembered {
	until := claims.Expires.Add(leeway)
	if !key.until.IsZero() && key.until.Before(until) {
		until = key.until
	}
	return remembered{claims, until}
}

func newCache() *cache { return &cache{tokens: map[[sha256.Size]byte]remembered{}} }

func cacheKey(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

func (c *cache) get(key [sha256.Size]byte, now time.Time) (Claims, bool) {
	c.mu.RLock()
	found, ok := c.tokens[key]
	c.mu.RUnlock()
	return found.claims, ok && now.Before(found.until)
}

// put makes room by dropping tokens that have ended and, if that is not enough, half of the rest. Dropped tokens are verified again
// on their next use.
func (c *cache) put(key [sha256.Size]byte, verified remembered, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) >= cacheSize {
		for k, old := range c.tokens {
			if !now.Before(old.until) {
				delete(c.tokens, k)
			}
		}
		for k := range c.tokens {
			if len(c.tokens) < cacheSize/2 {
				break
			}
			delete(c.tokens, k)
		}
	}
	c.tokens[key] = verified
}
