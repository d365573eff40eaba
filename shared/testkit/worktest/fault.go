package worktest

import (
	"context"
	"sync"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Store wraps a store and lets a test make its commits fail.
type Store struct {
	store.Store
	mu     sync.Mutex
	before func(ops []store.Op) error
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
