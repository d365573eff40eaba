package assessment

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// Facts holds the input of an assessment. Several responses share its maps and lists, so do not change them.
type Facts struct {
	projection.Context
	AsOf time.Time // see AsOf
	Tag  string    // see Tag
}

// Reader reads companies' facts. It caches decoded contexts, so that an unchanged context costs only the read from the store.
// It is safe for concurrent use.
type Reader struct {
	now func() time.Time

	mu    sync.Mutex
	cache map[string]decoded // by company
	bytes int                // total size of the stored items behind the cached contexts
}

type decoded struct {
	version int64
	bytes   int
	context projection.Context
}

// maxDecoded limits the cache of a Reader, in bytes of stored items. A decoded context takes about three times as much
// memory. A Reader above the limit drops its whole cache, because decoding again costs less than tracking which context was
// used last.
const maxDecoded = 2 << 20

// NewReader makes a Reader with an empty cache.
func NewReader(now func() time.Time) *Reader {
	return &Reader{now: now, cache: map[string]decoded{}}
}

// Read reads a company's facts as of now. A company without a context has an empty one. Its errors come from the store or
// from decoding.
func (r *Reader) Read(ctx context.Context, c store.Company) (Facts, error) {
	p, err := r.context(ctx, c)
	if err != nil {
		return Facts{}, err
	}
	asOf := AsOf(r.now())
	return Facts{Context: p, AsOf: asOf, Tag: Tag(p.ContextVersion, asOf)}, nil
}

func (r *Reader) context(ctx context.Context, c store.Company) (projection.Context, error) {
	item, err := c.Get(ctx, projection.Key, nil)
	if errors.Is(err, store.ErrNotFound) {
		return projection.Empty(c.ID()), nil
	}
	if err != nil {
		return projection.Context{}, err
	}
	if p, ok := r.cached(c.ID(), item.Version); ok {
		return p, nil
	}
	p, err := projection.Decode(item)
	if err == nil {
		r.add(c.ID(), item, p)
	}
	return p, err
}

func (r *Reader) cached(company string, version int64) (projection.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.cache[company]
	return d.context, ok && d.version == version
}

func (r *Reader) add(company string, item store.Item, p projection.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := len(item.Body)
	if r.bytes += size - r.cache[company].bytes; r.bytes > maxDecoded {
		clear(r.cache)
		r.bytes = size
	}
	r.cache[company] = decoded{item.Version, size, p}
}
