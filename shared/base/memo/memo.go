// Package memo keeps what has been read during one invocation, so that the invocation reads it once.
package memo

import (
	"context"
	"errors"
	"sync"
)

// errPanicked is what waiting callers get if the load panics.
var errPanicked = errors.New("the load panicked")

// memo keeps results by key.
type memo struct {
	ctx   context.Context // of the invocation
	mu    sync.Mutex
	known map[any]*entry
}

// entry holds a result, or the load that makes it.
type entry struct {
	loaded chan struct{} // closed when value and err are set
	value  any
	err    error
}

type contextKey struct{}

// With returns a context with an empty memo, for one invocation.
func With(ctx context.Context) context.Context {
	m := &memo{known: map[any]*entry{}}
	m.ctx = context.WithValue(ctx, contextKey{}, m)
	return m.ctx
}

// Get returns the result that load gave for this key under the same context, or calls load. Callers that ask at the same time
// wait for the first one's call, and get its error; a later caller loads again after an error. A caller whose context ends
// waits no longer. load gets the context of the invocation, because the first caller's may end before the others'. Without a
// memo, Get calls load with ctx. The key is comparable and of a type of the caller's package.
func Get[T any](ctx context.Context, key any, load func(context.Context) (T, error)) (value T, err error) {
	m, ok := ctx.Value(contextKey{}).(*memo)
	if !ok {
		return load(ctx)
	}
	e, mine := m.entry(key)
	if !mine {
		select {
		case <-e.loaded:
			value, _ = e.value.(T)
			return value, e.err
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
	defer func() {
		if e.value = value; e.err != nil {
			m.drop(key)
		}
		close(e.loaded)
	}()
	e.err = errPanicked
	value, e.err = load(m.ctx)
	return value, e.err
}

func (m *memo) entry(key any) (e *entry, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[key]; ok {
		return known, false
	}
	e = &entry{loaded: make(chan struct{})}
	m.known[key] = e
	return e, true
}

func (m *memo) drop(key any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}
