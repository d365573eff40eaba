package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/export"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// crashing is a store whose commits fail from a number on, as if the process had been killed.
type crashing struct {
	store.Store
	left int
}

var errKilled = errors.New("killed")

func (s *crashing) Commit(ctx context.Context, ops ...store.Op) error {
	if s.left == 0 {
		return errKilled
	}
	s.left--
	return s.Store.Commit(ctx, ops...)
}

// fill stores an item of each kind, an invited user, a key and a timer.
func fill(t *testing.T, h *webtest.Harness, companyID string) {
	t.Helper()
	c := store.For(h.Store, companyID)
	put := func(op store.Op) { errtest.Must(t, c.Commit(t.Context(), op)) }
	for n := range 150 {
		put(c.Create(fmt.Sprintf("MEMORY#%03d", n), "memory", map[string]string{"title": "t"}))
	}
	for _, k := range export.Kinds() {
		if k.Entity != company.Entity && k.Entity != "key" {
			put(c.Create("KIND#"+k.Entity, k.Entity, map[string]string{}))
		}
	}
	_, err := h.Vault.Seal(t.Context(), companyID, "l", []byte("secret"))
	errtest.Must(t, err)
	put(c.Timer(time.Now().Add(30*24*time.Hour), "certification-expiry", "webhook-word@1"))
}

// begin begins the erasure of company A.
func begin(t *testing.T, h *webtest.Harness) store.Company {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	ops, err := erasure.Begin(t.Context(), c, time.Now())
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), ops...))
	return c
}

func items(t *testing.T, p func(store.Query) (store.Page, error)) (keys []string) {
	t.Helper()
	for q := (store.Query{}); ; {
		page, err := p(q)
		errtest.Must(t, err)
		for _, item := range page.Items {
			keys = append(keys, item.Key)
		}
		if q.After = page.Next; q.After == "" {
			return keys
		}
	}
}

// TestEraser_Run_Killed kills the eraser at each of its commits. The next run goes on, and the receipt counts each item once.
func TestEraser_Run_Killed(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	fill(t, h, h.A.ID)
	c := begin(t, h)
	before := items(t, func(q store.Query) (store.Page, error) { return c.Query(t.Context(), q) })
	kills := 0
	var receipt erasure.Receipt
	for done := false; !done; {
		st := &crashing{h.Store, 1 + kills%2}
		var err error
		receipt, done, err = erasure.Eraser{Store: st, Keys: vault.StoreKeys{Store: st}, Now: time.Now}.Run(t.Context(), h.A.ID, time.Now().Add(time.Minute))
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		kills++
	}
	if kills < 6 {
		t.Errorf("%d runs, want at least 6", kills)
	}
	left := items(t, func(q store.Query) (store.Page, error) { return c.Query(t.Context(), q) })
	if diff := cmp.Diff([]string{user.HaltKey}, left); diff != "" {
		t.Errorf("items differ (-want +got):\n%s", diff)
	}
	removed := receipt.Erased()
	// All but the halt and the key, which is destroyed before, and with the login, the person, the registry's entry, and two timers: the
	// certification's and the suspension's.
	if want := len(before) - 2 + 5; removed != want {
		t.Errorf("receipt %v counts %d items, want %d", receipt.Items, removed, want)
	}
	if got := receipt.Items["memory"]; got != 151 {
		t.Errorf("receipt counts %d memories, want 151", got)
	}
	if receipt.KeyDestroyedAt == nil {
		t.Error("the receipt does not say when the key was destroyed")
	}
	for _, key := range []string{user.LoginKey(h.A.ID), user.ProvenKey} {
		if _, err := h.Store.Get(t.Context(), store.Login(h.A.Email), key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: err = %v, want %v", key, err, store.ErrNotFound)
		}
	}
	for item, err := range company.Registered(t.Context(), h.Store) {
		errtest.Must(t, err)
		if item.Key == h.A.ID {
			t.Error("the company is in the registry, want it removed")
		}
	}
	_, err := user.NewSessions(nil).Check(t.Context(), c, token.Claims{Subject: h.A.UserID})
	if got := fault.KindOf(err); got != fault.Unauthenticated {
		t.Errorf("a token of the company: %v, want %v", err, fault.Unauthenticated)
	}
	if _, err := h.Store.Get(t.Context(), store.Login(h.B.Email), user.LoginKey(h.B.ID)); err != nil {
		t.Errorf("the other company's login: err = %v, want none", err)
	}
}

// watching records where the queries of companies begin.
type watching struct {
	store.Store
	after []string
}

func (s *watching) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	if _, ok := p.CompanyID(); ok {
		s.after = append(s.after, q.After)
	}
	return s.Store.Query(ctx, p, q)
}

// TestEraser_Run_Slices erases in runs that have time for a batch each. A run resumes where the one before has ended: in front of it lie
// the tombstones of what is removed.
func TestEraser_Run_Slices(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	c := store.For(h.Store, h.A.ID)
	for n := range 10 {
		var ops []store.Op
		for i := range store.MaxOps {
			ops = append(ops, c.Create(fmt.Sprintf("MEMORY#%02d%02d", n, i), "memory", map[string]string{"title": "t"}))
		}
		errtest.Must(t, c.Commit(t.Context(), ops...))
	}
	begin(t, h)
	st, clock := &watching{Store: h.Store}, time.Now()
	e := erasure.Eraser{Store: st, Keys: vault.StoreKeys{Store: h.Store}, Now: func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}}
	runs := 0
	for done := false; !done; runs++ {
		var err error
		_, done, err = e.Run(t.Context(), h.A.ID, clock.Add(5*time.Second))
		errtest.Must(t, err)
	}
	if runs < 5 {
		t.Errorf("%d runs, want at least 5", runs)
	}
	first := 0
	for _, after := range st.after {
		if after == "" {
			first++
		}
	}
	if first > 2 {
		t.Errorf("%d of %d queries began at the first item, want 2: of the pass that removes, and the pass that finds nothing", first, len(st.after))
	}
	if left := items(t, func(q store.Query) (store.Page, error) { return c.Query(t.Context(), q) }); len(left) > 1 {
		t.Errorf("items %q are left, want the halt alone", left)
	}
}

// TestEraser_Run_Late removes what was written after the first round, and ends a run when its time has come.
func TestEraser_Run_Late(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	e := erasure.Eraser{Store: h.Store, Keys: vault.StoreKeys{Store: h.Store}, Now: time.Now}
	run := func(until time.Time) (erasure.Receipt, bool) {
		t.Helper()
		r, done, err := e.Run(t.Context(), h.A.ID, until)
		errtest.Must(t, err)
		return r, done
	}
	if _, _, err := e.Run(t.Context(), h.A.ID, time.Now()); fault.KindOf(err) != fault.Conflict {
		t.Errorf("without a request: err = %v, want %v", err, fault.Conflict)
	}
	c := begin(t, h)
	if _, done := run(time.Now()); done {
		t.Error("a run without time is done, want it to continue later")
	}
	first, done := run(time.Now().Add(time.Minute))
	if !done {
		t.Fatal("the run is not done")
	}
	errtest.Must(t, c.Commit(t.Context(), c.Create("CONTEXT", "context", map[string]string{})))
	second, _ := run(time.Now().Add(time.Minute))
	if _, err := c.Get(t.Context(), "CONTEXT", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an item from after the first round: err = %v, want %v", err, store.ErrNotFound)
	}
	if diff := cmp.Diff(first.ErasedAt, second.ErasedAt); diff != "" {
		t.Errorf("the second round changes the time (-first +second):\n%s", diff)
	}
	if _, err := erasure.Begin(t.Context(), c, time.Now()); fault.KindOf(err) != fault.NotFound {
		t.Errorf("erased again: err = %v, want %v", err, fault.NotFound)
	}
}
