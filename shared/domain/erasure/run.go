package erasure

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Keys destroys companies' data keys.
type Keys interface {
	// Destroy removes a company's key. It has no effect if the company has none.
	Destroy(ctx context.Context, company string) error
}

// Eraser erases companies. All fields are required.
type Eraser struct {
	Store store.Store
	Keys  Keys
	Now   func() time.Time
}

// round holds one run of an eraser.
type round struct {
	Eraser
	c       store.Company
	until   time.Time
	receipt Receipt
	version int64
}

// Run erases a company whose erasure has begun, until it is finished or a time has come. done is false if another run must
// continue. A run after the last one removes what was written since.
func (e Eraser) Run(ctx context.Context, companyID string, until time.Time) (r Receipt, done bool, err error) {
	s := &round{Eraser: e, c: store.For(e.Store, companyID), until: until}
	if err := s.open(ctx); err != nil {
		return Receipt{}, false, err
	}
	for _, step := range []func(context.Context) (bool, error){s.lock, s.items, s.registry, s.timers, s.scrub, s.finish} {
		if done, err := step(ctx); err != nil || !done {
			return s.receipt, false, err
		}
	}
	return s.receipt, true, nil
}

// open reads the receipt, or makes one.
func (s *round) open(ctx context.Context) (err error) {
	s.receipt, s.version, err = Find(ctx, s.Store, s.c.ID())
	if err != nil || s.version > 0 {
		return err
	}
	is, _, err := company.Get(ctx, s.c)
	if err != nil {
		return err
	}
	if is.Erasing == nil {
		return fault.New(fault.Conflict, "the erasure of the company has not begun")
	}
	return s.save(ctx, Receipt{CompanyID: s.c.ID(), BegunAt: *is.Erasing, Items: map[string]int{}})
}

// save commits writes together with the receipt that counts them.
func (s *round) save(ctx context.Context, r Receipt, ops ...store.Op) error {
	err := s.Store.Commit(ctx, append(ops[:len(ops):len(ops)], r.write(s.version))...)
	if err != nil {
		return err
	}
	s.receipt, s.version = r, s.version+1
	return nil
}

// lock refuses all tokens of the company from now on and destroys its key.
func (s *round) lock(ctx context.Context) (bool, error) {
	if s.receipt.ErasedAt == nil {
		item, err := s.c.Get(ctx, user.HaltKey, nil)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		halt := s.c.Save(user.HaltKey, user.HaltEntity, item.Version, user.Halt{Erased: true}).Quietly().Until(s.Now().Add(finally))
		if err := s.c.Commit(ctx, halt); err != nil {
			return false, err
		}
	}
	if err := s.Keys.Destroy(ctx, s.c.ID()); err != nil || s.receipt.KeyDestroyedAt != nil {
		return err == nil, err
	}
	r, now := s.receipt, s.Now().UTC()
	r.KeyDestroyedAt = &now
	return true, s.save(ctx, r)
}

// late reports whether the run must end.
func (s *round) late(ctx context.Context) bool { return ctx.Err() != nil || !s.Now().Before(s.until) }

// maxBatch limits the writes of a commit, with room for the receipt and the last item's login.
const maxBatch = store.MaxOps - 10

// items removes the company's items. It goes through the partition until it finds nothing, because a batch leaves out an item that
// changes meanwhile.
func (s *round) items(ctx context.Context) (bool, error) {
	for {
		removed, done, err := s.pass(ctx)
		if err != nil || !done || removed == 0 {
			return err == nil && done, err
		}
	}
}

// pass goes through the partition once.
func (s *round) pass(ctx context.Context) (removed int, done bool, err error) {
	for q := (store.Query{Limit: maxBatch / 2}); ; {
		if s.late(ctx) {
			return removed, false, nil
		}
		page, err := s.c.Query(ctx, q)
		if err != nil {
			return removed, false, err
		}
		n, last, err := s.batch(ctx, page.Items)
		if err != nil {
			return removed, false, err
		}
		removed += n
		if q.After = page.Next; last != "" {
			q.After = last
		}
		if q.After == "" {
			return removed, true, nil
		}
	}
}

// batch removes items in one commit. last is the key of the last one if not all had room, "" if they had.
func (s *round) batch(ctx context.Context, items []store.Item) (removed int, last string, err error) {
	var ops []store.Op
	counts := map[string]int{}
	for _, item := range items {
		if len(ops) >= maxBatch {
			break
		}
		last = item.Key
		if item.Key == user.HaltKey {
			continue
		}
		more, err := s.logins(ctx, item)
		if err != nil {
			return 0, "", err
		}
		for _, op := range append(more, s.c.Delete(item.Key, item.Entity, item.Version)) {
			ops = append(ops, op.Quietly())
			counts[op.Entity]++
		}
	}
	if len(items) == 0 || last == items[len(items)-1].Key {
		last = ""
	}
	if len(ops) == 0 {
		return 0, last, nil
	}
	err = s.save(ctx, s.receipt.with(counts), ops...)
	if errors.Is(err, store.ErrConflict) { // an item has changed; the next pass reads it again
		return 1, last, nil
	}
	return len(ops), last, err
}

// logins returns the writes that remove what leads from a user's e-mail address or identity to the company.
func (s *round) logins(ctx context.Context, item store.Item) ([]store.Op, error) {
	var u user.User
	readable := item.Entity == user.Entity && item.Decode(&u) == nil
	if !readable || u.Email == "" {
		return nil, nil
	}
	partition := u.LoginPartition()
	page, err := s.Store.Query(ctx, partition, store.Query{})
	if err != nil {
		return nil, err
	}
	var own, rest []store.Op
	others := false
	for _, of := range page.Items {
		var login user.Login
		switch {
		case !user.IsLogin(of.Key):
			rest = append(rest, remove(partition, of))
		case of.Decode(&login) == nil && login.CompanyID == s.c.ID():
			own = append(own, remove(partition, of))
		default:
			others = true
		}
	}
	if len(own) == 0 || others { // what counts the tries of the address stays with the other companies
		return own, nil
	}
	return append(own, rest...), nil
}

// remove returns the write that removes an item outside of the company's partition.
func remove(p store.Partition, item store.Item) store.Op {
	return store.Op{
		Partition: p, Key: item.Key, Entity: item.Entity, Quiet: true, Action: store.Delete, Condition: store.IfVersion, Version: item.Version,
	}
}

// registry removes the company's entry in the registry.
func (s *round) registry(ctx context.Context) (bool, error) {
	p := store.RegistryOf(s.c.ID())
	item, err := s.Store.Get(ctx, p, s.c.ID())
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.save(ctx, s.receipt.with(map[string]int{item.Entity: 1}), remove(p, item))
}

// scrub removes what the store keeps of changed and removed items, if it keeps anything within reach.
func (s *round) scrub(ctx context.Context) (bool, error) {
	if scrubber, ok := s.Store.(store.Scrubber); ok {
		return true, scrubber.Scrub(ctx, s.c.ID())
	}
	return true, nil
}

// finish states the end in the receipt, once.
func (s *round) finish(ctx context.Context) (bool, error) {
	if s.receipt.ErasedAt != nil {
		return true, nil
	}
	r, now := s.receipt, s.Now().UTC()
	r.ErasedAt, r.TimersAt = &now, nil
	return true, s.save(ctx, r)
}
