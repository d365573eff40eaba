package worktest

import (
	"context"
	"sync"
	"sync/atomic"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Store wraps a store, lets a test make its commits fail, and counts its reads.
type Store struct {
	store.Store
	mu     sync.Mutex
	before func(ops []store.Op) error
	reads  atomic.Int64
	unread atomic.Int64 // queries that still fail
}

// Reads returns how many reads have begun.
func (s *Store) Reads() int64 { return s.reads.Load() }

// Get counts a read.
func (s *Store) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	s.reads.Add(1)
	return s.Store.Get(ctx, p, key)
}

// GetMany counts a read.
func (s *Store) GetMany(ctx context.Context, p store.Partition, keys []string) ([]store.Item, error) {
	s.reads.Add(1)
	return s.Store.GetMany(ctx, p, keys)
}

// FailQueries makes the next n queries fail.
func (s *Store) FailQueries(n int64) { s.unread.Store(n) }

// Query counts a read.
func (s *Store) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	s.reads.Add(1)
	if s.unread.Add(-1) >= 0 {
		return store.Page{}, store.ErrUnavailable
	}
	return s.Store.Query(ctx, p, q)
}

// Before calls f before every later commit, which fails with f's error. A nil f stops the calls.
func (s *Store) Before(f func(ops []store.Op) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Once makes the next commit with an op of this entity fail with err.
func (s *Store) Once(entity string, err error) {
	s.Before(func(ops []store.Op) error {
		for _, op := range ops {
			if op.Entity == entity {
				s.Before(nil)
				return err
			}
		}
		return nil
	})
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) error {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ops); err != nil {
			return err
		}
	}
	return s.Store.Commit(ctx, ops...)
}

// Queue wraps a queue and fails one send for each error in Fail.
type Queue struct {
	queue.Queue
	Fail chan error
}

// Send implements queue.Queue.
func (q *Queue) Send(ctx context.Context, messages ...queue.Message) error {
	select {
	case err := <-q.Fail:
		return err
	default:
		return q.Queue.Send(ctx, messages...)
	}
}

// Stuck is a store whose reads do not answer before it is released, not even when the context of the caller ends.
type Stuck struct {
	store.Store
	Released <-chan struct{}
}

// Get fails after the release.
func (s Stuck) Get(context.Context, store.Partition, string) (store.Item, error) {
	<-s.Released
	return store.Item{}, store.ErrUnavailable
}

// GetMany fails after the release.
func (s Stuck) GetMany(context.Context, store.Partition, []string) ([]store.Item, error) {
	<-s.Released
	return nil, store.ErrUnavailable
}

// Query fails after the release.
func (s Stuck) Query(context.Context, store.Partition, store.Query) (store.Page, error) {
	<-s.Released
	return store.Page{}, store.ErrUnavailable
}
