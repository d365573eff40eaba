package mapping

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// maxCached limits the mappings that a process keeps compiled. A compiled mapping of usual size takes about 100 kB.
const maxCached = 200

// Cache keeps checked mappings, whose expressions stay compiled. The zero Cache is empty. It is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	kept map[string]*Mapping // by digest, or by the kind of the connector whose default it is
}

// Default returns the default mapping of a connector.
func (c *Cache) Default(conn connector.Inbound) (*Mapping, error) {
	return c.get("default "+conn.Kind(), func() (json.RawMessage, error) { return conn.Mapping(), nil })
}

// Of returns the mapping that applies to an integration: the company's, or else the connector's default. It reads the
// company's mapping only if the cache does not hold it.
func (c *Cache) Of(ctx context.Context, company store.Company, i integration.Integration, conn connector.Inbound) (*Mapping, error) {
	if i.Mapping == nil {
		return c.Default(conn)
	}
	m, err := c.get(i.Mapping.Digest, func() (json.RawMessage, error) {
		stored, version, err := integration.LoadMapping(ctx, company, i.Provider)
		if err != nil {
			return nil, err
		}
		if version == 0 || stored.Digest != i.Mapping.Digest {
			return nil, errChanged()
		}
		raw, err := connector.Verified("mapping", stored.Mapping, stored.Digest)
		if err != nil {
			return nil, fmt.Errorf("stored mapping of %s: %w", i.Provider, err)
		}
		return raw, nil
	})
	if k := fault.KindOf(err); k == fault.Invalid || k == fault.Malformed { // it was checked when it was stored
		return nil, fmt.Errorf("stored mapping of %s: %v", i.Provider, err) //nolint:errorlint // not the sender's fault
	}
	return m, err
}

// errChanged asks the sender to retry, because the mapping was replaced between two reads.
func errChanged() error {
	e := fault.New(fault.Unavailable, "the mapping is being changed; send this again")
	e.RetryAfter = time.Second
	return e
}

func (c *Cache) get(name string, load func() (json.RawMessage, error)) (*Mapping, error) {
	c.mu.Lock()
	m := c.kept[name]
	c.mu.Unlock()
	if m != nil {
		return m, nil
	}
	raw, err := load()
	if err != nil {
		return nil, err
	}
	if m, err = Parse(raw); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxCached { // dropping all is rare, and needs no order of use
		c.kept = map[string]*Mapping{}
	}
	c.kept[name] = m
	return m, nil
}

// Map implements connector.Mapper.
func (c *Cache) Map(ctx context.Context, name string, mapping, config json.RawMessage, record []byte) ([]connector.Action, error) {
	m, err := c.get(name, func() (json.RawMessage, error) { return mapping, nil })
	if err != nil {
		return nil, err
	}
	payload, err := Payload(record)
	if err != nil {
		return nil, err
	}
	matches, err := m.Apply(ctx, Arrival{Payload: payload, Config: config})
	return Actions(matches), err
}
