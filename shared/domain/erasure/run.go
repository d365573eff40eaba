package erasure

import (
	"context"
	"errors"
	"slices"
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

// pass says how far a way through the partition has come.
type pass struct {
	After   string `json:"after,omitempty"`
	Removed bool   `json:"removed,omitempty"` // it has removed something, so another pass follows
}

// items removes the company's items. It goes through the partition until it finds nothing, because a batch leaves out an item that
// changes meanwhile. It resumes where the run before has ended: what is removed stays in the table for days, as tombstones, and a run
// that begins in front of those of a large company has no time for anything else.
func (s *round) items(ctx context.Context) (bool, error) {
	if s.receipt.TimersAt != nil { // the round has come further
		return true, nil
	}
	var at pass
	if s.receipt.ItemsAt != nil {
		at = *s.receipt.ItemsAt
	}
	for {
		if s.late(ctx) {
			return false, s.rest(ctx, at)
		}
		page, err := s.c.Query(ctx, store.Query{After: at.After, Limit: maxBatch})
		if err != nil {
			return false, err
		}
		next := page.Next
		at, err = s.batch(ctx, at, page.Items, next)
		if err != nil {
			return false, err
		}
		if at.After != "" {
			continue
		}
		if !at.Removed {
			return true, s.ended(ctx)
		}
		at = pass{}
	}
}

// ended stores that no item is left. The next round begins at the first item.
func (s *round) ended(ctx context.Context) error {
	r := s.receipt
	r.ItemsAt = nil
	if r.ErasedAt == nil {
		r.TimersAt = &place{}
	}
	return s.save(ctx, r)
}

// rest stores where the next run resumes.
func (s *round) rest(ctx context.Context, at pass) error {
	if ctx.Err() != nil || s.receipt.ItemsAt != nil && *s.receipt.ItemsAt == at {
		return ctx.Err()
	}
	r := s.receipt
	r.ItemsAt = &at
	return s.save(ctx, r)
}

// batch removes the items of a page in one commit, and returns how far the pass has come: to the page's end, or to the last item that
// had room.
func (s *round) batch(ctx context.Context, at pass, items []store.Item, next string) (pass, error) {
	var ops []store.Op
	counts := map[string]int{}
	for n, item := range items {
		if len(ops) >= maxBatch {
			next = items[n-1].Key
			break
		}
		if item.Key == user.HaltKey {
			continue
		}
		more, err := s.logins(ctx, item)
		if err != nil {
			return at, err
		}
		for _, op := range append(more, s.c.Delete(item.Key, item.Entity, item.Version)) {
			ops = append(ops, op.Quietly())
			counts[op.Entity]++
		}
	}
	at.After = next
	if len(ops) == 0 {
		return at, nil
	}
	at.Removed = true
	r := s.receipt.with(counts)
	r.ItemsAt = &at
	err := s.save(ctx, r, ops...)
	if errors.Is(err, store.ErrConflict) { // an item has changed; the next pass reads it again
		err = nil
	}
	return at, err
}

// logins returns the writes that remove what leads from a user's e-mail address or identity to the company.
func (s *round) logins(ctx context.Context, item store.Item) ([]store.Op, error) {
	var u user.User
	readable := item.Entity == user.Entity && item.Decode(&u) == nil
	if !readable || u.Email == "" || u.State == user.Invited { // who is invited has no login yet
		return nil, nil
	}
	partition := u.LoginPartition()
	page, err := s.Store.Query(ctx, partition, store.Query{})
	if err != nil {
		return nil, err
	}
	var own []store.Op
	var items []store.Item
	for _, of := range page.Items { // an item that cannot be read may be another company's, and stops nothing
		switch {
		case isReadable(of):
			items = append(items, of)
		case of.Key == user.LoginKey(s.c.ID()):
			own = append(own, remove(partition, of))
		}
	}
	accounts, err := company.AccountsIn(partition, items)
	if err != nil {
		return nil, err
	}
	others := len(items)+len(own) < len(page.Items)
	for _, a := range accounts {
		own = append(own, a.Leave(s.c.ID())...)
		others = others || slices.ContainsFunc(a.Members, func(m company.Member) bool { return m.CompanyID != s.c.ID() })
	}
	if len(own) == 0 || others { // what counts the tries of the address stays with the other companies
		return own, nil
	}
	for _, of := range page.Items {
		if !user.IsLogin(of.Key) && !user.IsPerson(of.Key) {
			own = append(own, remove(partition, of))
		}
	}
	return own, nil
}

// isReadable reports whether an item of an address's partition is neither a login nor a person that does not decode.
func isReadable(item store.Item) bool {
	return (!user.IsLogin(item.Key) || item.Decode(new(user.Login)) == nil) && (!user.IsPerson(item.Key) || item.Decode(new(user.Person)) == nil)
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
