package user

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
)

// HaltEntity and HaltKey name the entity and the key of a company's Halt. No user has this id, and the key lies among those of
// Ended, so that the query for the ended tokens of a company also finds whether the company is halted.
const (
	HaltEntity = "halt"
	HaltKey    = EndedPrefix + "*"
)

// Halt restricts the tokens of all users of a company: those of a suspended company only read, those of an erased one are refused.
type Halt struct {
	Erased bool `json:"erased,omitempty"`
}

// Halted returns fault.Suspended for a suspended company. It serves a write without a token; Sessions tells it for the others.
func Halted(ctx context.Context, c store.Company) error {
	switch _, err := c.Get(ctx, HaltKey, nil); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return store.Fault(err, "")
	}
	return fault.New(fault.Suspended, "the company is suspended: reads go on, and writes are refused; ask the operator of the service")
}

// Limits of what Sessions caches.
const (
	sessionsFresh = 4 * time.Second
	maxSessions   = 8192
)

// Sessions tells which tokens have been ended, and which companies are suspended. It reads a company's endings at most once in
// four seconds, so an ended token is refused within five seconds in every process. It is safe for concurrent use.
type Sessions struct {
	now   func() time.Time
	mu    sync.Mutex
	known map[string]standing
}

// standing holds the least generation that is accepted of each user's tokens, the single tokens that were ended, and the company's Halt, as read at a time.
type standing struct {
	from map[string]int64
	gone map[string]bool // single tokens that were ended, by their ids
	halt *Halt
	at   time.Time
}

// NewSessions makes Sessions that know nothing yet. now is time.Now if it is nil.
func NewSessions(now func() time.Time) *Sessions {
	if now == nil {
		now = time.Now
	}
	return &Sessions{now: now, known: map[string]standing{}}
}

// Check returns fault.Unauthenticated for an ended token. suspended reports that the token may only read. c is bound to the
// token's company.
func (s *Sessions) Check(ctx context.Context, c store.Company, claims token.Claims) (suspended bool, err error) {
	if !id.Valid(claims.Subject) {
		return false, fault.New(fault.Unauthenticated, "the token names no user")
	}
	now, err := s.standing(ctx, c)
	switch {
	case err != nil:
		return false, err
	case now.halt != nil && now.halt.Erased:
		return false, fault.New(fault.Unauthenticated, "the company of the token was erased")
	case now.ended(claims):
		return false, fault.New(fault.Unauthenticated, "the token was ended; log in again")
	}
	return now.halt != nil, nil
}

// ended reports whether the tokens of the subject, or of a principal that the token depends on, were ended after it was issued.
func (s standing) ended(claims token.Claims) bool {
	for id, generation := range claims.Depends {
		if generation < s.from[id] {
			return true
		}
	}
	return s.gone[claims.ID] || claims.Generation < s.from[claims.Subject]
}

// standing returns the endings of a company, from the cache if they are fresh.
func (s *Sessions) standing(ctx context.Context, c store.Company) (standing, error) {
	now := s.now()
	s.mu.Lock()
	found, ok := s.known[c.ID()]
	s.mu.Unlock()
	if age := now.Sub(found.at); ok && age >= 0 && age < sessionsFresh {
		return found, nil
	}
	read, err := readStanding(ctx, c, now)
	if err == nil {
		s.remember(c.ID(), read)
	}
	return read, err
}

// readStanding reads the endings with one query, unless very many users' tokens have been ended within the last hours.
func readStanding(ctx context.Context, c store.Company, now time.Time) (standing, error) {
	out := standing{at: now}
	for item, err := range c.Items(ctx, store.Query{Prefix: EndedPrefix}) {
		if err != nil {
			return standing{}, store.Fault(err, "")
		}
		if err := out.add(item); err != nil {
			return standing{}, err
		}
	}
	return out, nil
}

// add takes an item among the endings into account.
func (s *standing) add(item store.Item) error {
	if item.Key == HaltKey {
		s.halt = new(Halt)
		return item.Decode(s.halt)
	}
	var ended Ended
	if err := item.Decode(&ended); err != nil {
		return err
	}
	if s.from == nil {
		s.from, s.gone = map[string]int64{}, map[string]bool{}
	}
	for tokenID := range ended.Tokens {
		s.gone[tokenID] = true
	}
	s.from[strings.TrimPrefix(item.Key, EndedPrefix)] = ended.From
	return nil
}

// remember makes room by dropping what is no longer fresh and, if that is not enough, everything.
func (s *Sessions) remember(company string, read standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSessions {
		for k, old := range s.known {
			if read.at.Sub(old.at) >= sessionsFresh {
				delete(s.known, k)
			}
		}
		if len(s.known) >= maxSessions {
			clear(s.known)
		}
	}
	s.known[company] = read
}
