package audit

import (
	"context"
	"sync"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// Commanded returns the record of a command of the service's operator.
func Commanded(operator, command, resource string, now time.Time) Record {
	return Record{
		At: now, Actor: Actor{Operator: operator}, Operation: command, Resource: resource, Outcome: "success", RequestID: id.New(),
	}
}

// Recording is a store that adds a record to the first commit that changes a company. It serves one command.
type Recording struct {
	store.Store
	record Record

	mu      sync.Mutex
	written map[string]bool // companies with the record
}

// NewRecording makes a store that writes the record of one command.
func NewRecording(st store.Store, r Record) *Recording {
	return &Recording{Store: st, record: r, written: map[string]bool{}}
}

// Commit implements store.Store. If a commit fails, the next one of the company gets the record.
func (s *Recording) Commit(ctx context.Context, ops ...store.Op) error {
	companyID, ok := s.changed(ops)
	if !ok {
		return s.Store.Commit(ctx, ops...)
	}
	err := s.Store.Commit(ctx, append(ops[:len(ops):len(ops)], Write(store.For(s.Store, companyID), s.record, 1))...)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.written[companyID] = true
	}
	return err
}

// changed returns the company that a commit changes. ok is false if it has the record, or if the commit has no room for it.
func (s *Recording) changed(ops []store.Op) (companyID string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range ops {
		if of, in := op.Partition.CompanyID(); in && op.Action != store.Check {
			return of, !s.written[of] && len(ops) < store.MaxOps
		}
	}
	return "", false
}
