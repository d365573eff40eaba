package policyengine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
)

// Fresh limits how long an engine decides with policies that it has read. So the decisions of an arrival or of a sync's page
// cost one read together, and a stored change holds everywhere within this time.
const Fresh = 2 * time.Second

// maxHeld limits the bytes of the policy texts that a cache holds compiled. A company beyond it is compiled again.
const maxHeld = 8 << 20

// held holds the compiled policies of a company.
type held struct {
	set     *Set
	version int64
	bytes   int
	readAt  time.Time
}

// cache holds compiled sets by company. A company without policies has the set of the service's own.
type cache struct {
	now      func() time.Time
	defaults func() (*Set, error)

	mu    sync.Mutex
	sets  map[string]held
	bytes int
}

func newCache(now func() time.Time) *cache {
	return &cache{now: now, defaults: sync.OnceValues(func() (*Set, error) { return Compile(nil) }), sets: map[string]held{}}
}

// of returns the set of a company. It reads the company's policies if current is true or if the last read is not fresh, and
// compiles them if their version is new.
func (c *cache) of(ctx context.Context, company store.Company, current bool) (*Set, error) {
	was, known := c.held(company.ID())
	now := c.now()
	if age := now.Sub(was.readAt); known && !current && age >= 0 && age < Fresh {
		return was.set, nil
	}
	stored, version, err := policy.Load(ctx, company)
	if err != nil {
		return nil, fmt.Errorf("read the company's policies: %w", err)
	}
	is := held{set: was.set, version: version, bytes: was.bytes, readAt: now}
	if !known || was.version != version {
		if is.set, err = c.compile(stored.Policies); err != nil {
			return nil, fmt.Errorf("compile the company's policies of version %d: %w", version, err)
		}
		is.bytes = size(stored.Policies)
	}
	c.hold(company.ID(), is)
	return is.set, nil
}

func (c *cache) compile(own []policy.Statement) (*Set, error) {
	if len(own) == 0 {
		return c.defaults()
	}
	return Compile(own)
}

// size estimates what a company's entry holds. The part that does not depend on the policies bounds the number of entries.
func size(own []policy.Statement) int {
	n := 1 << 10
	for _, s := range own {
		n += len(s.Text)
	}
	return n
}

func (c *cache) held(company string) (held, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, known := c.sets[company]
	return h, known
}

// hold keeps an entry, and drops others while there are too many. An entry of an older version that another goroutine read
// before does not replace a newer one.
func (c *cache) hold(company string, h held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, known := c.sets[company]; known && was.version > h.version {
		return
	}
	c.drop(company)
	for other := range c.sets {
		if c.bytes+h.bytes <= maxHeld {
			break
		}
		c.drop(other)
	}
	c.sets[company] = h
	c.bytes += h.bytes
}

func (c *cache) forget(company string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(company)
}

func (c *cache) drop(company string) {
	c.bytes -= c.sets[company].bytes
	delete(c.sets, company)
}
