package worktest

import (
	"context"
	"sync"

	"orgops/shared/queue"
	"orgops/shared/store"
)

// Store is a store whose commits can be made to fail.
type Store struct {
	store.Store
	mu     sync.Mutex
	before func(ops []store.Op) error
}

// Before has f called before every commit from now on; its error is the commit's. nil stops that.
func (s *Store) Before(f func(ops []store.Op) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Once has the next commit with an op of this entity fail with err.
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

// Queue is a queue whose next sends fail, one for each error in Fail.
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
