package restore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/export"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/user"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// writer writes the items of an export in batches.
type writer struct {
	st store.Store
	c  store.Company
	is company.Company
	// bare holds the integrations that are disabled, because their secrets are missing here.
	bare map[string]integration.Integration
	left *leftBehind
	now  time.Time
	out  Restored

	ops     []store.Op
	size    int
	pending map[string]bool // timers in ops, which several deliveries may share

	mark     reached
	version  int64  // of the stored mark
	last     string // key of the last item in ops
	progress func(items int)
}

// reached says how far an import has come. It is committed with each batch.
type reached struct {
	SHA256 string `json:"sha256"` // of the file
	Key    string `json:"key"`    // of the last item that was written
}

const (
	markKey    = "IMPORT"
	markEntity = "import"
)

// resume finds how far an import of the same file has come.
func (w *writer) resume(ctx context.Context, sum string) error {
	item, err := w.c.Get(ctx, markKey, &w.mark)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Fault(err, "")
	}
	if w.version = item.Version; w.version > 0 && w.mark.SHA256 != sum {
		return errors.New("nothing was imported: the import of another file has begun to make this company; go on with that file")
	}
	w.mark.SHA256 = sum
	return nil
}

// Bounds of a batch.
const (
	maxOps  = store.MaxOps - 10 // with room for the mark and what belongs to the last item
	maxSize = store.MaxCommit / 2
)

// item adds the writes of a line. The company itself comes last.
func (w *writer) item(ctx context.Context, l export.Line) error {
	if l.Entity == company.Entity {
		return nil
	}
	if l.Expires != nil && !l.Expires.After(w.now) {
		w.out.Expired++
		return nil
	}
	ops, err := w.opsOf(&l)
	if err != nil {
		return err
	}
	put := w.c.Create(l.Key, l.Entity, l.Body).From(first(l)).Quietly()
	if l.Expires != nil {
		put = put.Until(*l.Expires)
	}
	w.out.Items++
	if l.Key <= w.mark.Key { // it was written before the interruption
		return nil
	}
	w.last = l.Key
	w.add(append(ops, put)...)
	if len(w.ops) < maxOps && w.size < maxSize {
		return nil
	}
	return w.flush(ctx)
}

// first returns the first version of an item here.
func first(l export.Line) int64 {
	var i integration.Integration
	if l.Entity != integration.Entity || json.Unmarshal(l.Body, &i) != nil {
		return 1
	}
	return i.First()
}

func (w *writer) add(ops ...store.Op) {
	if w.pending == nil {
		w.pending = map[string]bool{}
	}
	for _, op := range ops {
		if key := op.Partition.String() + " " + op.Key; !w.pending[key] {
			w.pending[key] = true
			w.ops, w.size = append(w.ops, op), w.size+len(op.Body)
		}
	}
}

// opsOf returns the writes that belong to an item, and changes the body of an item that cannot be the same here.
func (w *writer) opsOf(l *export.Line) ([]store.Op, error) {
	if err := w.left.settle(l); err != nil {
		return nil, err
	}
	switch l.Entity {
	case user.Entity:
		return w.login(l)
	case integration.Entity:
		return w.integration(l)
	case projection.Entity:
		return nil, w.context(l)
	case approval.Entity:
		var a approval.Approval
		err := json.Unmarshal(l.Body, &a)
		return a.Restored(w.c, w.now), err
	case goal.Entity:
		var g goal.Goal
		err := json.Unmarshal(l.Body, &g)
		return intake.Review(w.c, g, 1, w.now), err
	case delivery.Entity:
		return w.lookout(l), nil
	case notice.PreferencesEntity:
		return notice.Restored(w.c, l.Body, strings.TrimPrefix(l.Key, notice.PreferencesPrefix), w.now)
	}
	return nil, nil
}

// login returns the write of a user's login, which has no password.
func (w *writer) login(l *export.Line) ([]store.Op, error) {
	u, ok, err := loginUser(*l)
	if !ok || err != nil {
		return nil, err
	}
	if u.State != user.Disabled && u.Identity == "" {
		w.out.NeedPassword = append(w.out.NeedPassword, u.Email)
	}
	login := user.Login{CompanyID: w.is.ID, UserID: u.ID, Role: u.Role, Provider: u.Provider, Disabled: u.State == user.Disabled}
	return []store.Op{u.LoginPartition().Entry(user.LoginKey(w.is.ID), user.LoginEntity, 0, login)}, nil
}

// integration disables an integration whose secrets are missing here, and returns the timers of the others.
func (w *writer) integration(l *export.Line) ([]store.Op, error) {
	var i integration.Integration
	if err := json.Unmarshal(l.Body, &i); err != nil {
		return nil, fmt.Errorf("the integration %s cannot be read", l.Key)
	}
	if bare, ok := w.bare[i.Provider]; ok {
		i = bare
		w.out.NeedSecrets = append(w.out.NeedSecrets, i.Provider)
		body, err := json.Marshal(i)
		if err != nil {
			return nil, err
		}
		l.Body = body
	}
	ops := append(i.NextSync(w.c, w.now), i.CredentialsEnding(w.c, i.First())...)
	if i.Schedule != nil && i.Schedule.PausedAt != nil {
		ops = append(ops, i.Demotion(w.c, *i.Schedule.PausedAt))
	}
	if i.Certification != nil {
		ops = append(ops, i.Ending(w.c, i.First()))
	}
	return ops, nil
}

// context drops the positions in the feed, which are those of another deployment, and states which integrations are disabled and what was
// settled. Everything else of the context stays as it is.
func (w *writer) context(l *export.Line) error {
	var is projection.Context
	if err := json.Unmarshal(l.Body, &is); err != nil {
		return err
	}
	is, err := w.left.counted(is)
	if err != nil {
		return err
	}
	for provider, i := range w.bare {
		if fact, ok := is.Integrations[provider]; ok {
			fact.Enabled, fact.DisabledReason, fact.DisabledAt = false, i.Disabled.Reason, i.Disabled.At
			fact.SecretAt, fact.CredentialsAt, fact.CredentialsEnd = time.Time{}, time.Time{}, time.Time{}
			is.Integrations[provider] = fact
		}
	}
	l.Body, err = projection.Encode(is)
	return err
}

// lookout returns the timer that finds a scheduled delivery overdue, because no message of it is in the queue here.
func (w *writer) lookout(l *export.Line) []store.Op {
	at, subject, ok := delivery.TransitionOf(store.Change{Entity: l.Entity, Key: l.Key, New: &store.Image{Body: l.Body}}).Lookout()
	if !ok {
		return nil
	}
	return []store.Op{w.c.Timer(at, delivery.OverdueTimer, subject)}
}

// flush commits the batch with the mark. If a part of it is there, such as a timer of several deliveries, flush writes the rest one by one.
func (w *writer) flush(ctx context.Context) error {
	ops := w.ops
	w.ops, w.size, w.pending = nil, 0, nil
	if len(ops) == 0 {
		return nil
	}
	next := reached{w.mark.SHA256, w.last}
	marks := w.c.Save(markKey, markEntity, w.version, next).Quietly()
	err := w.st.Commit(ctx, append(ops[:len(ops):len(ops)], marks)...)
	if errors.Is(err, store.ErrConflict) {
		for _, op := range ops {
			if err := w.one(ctx, op); err != nil {
				return err
			}
		}
		err = w.st.Commit(ctx, marks)
	}
	if err != nil {
		return store.Fault(err, "")
	}
	w.mark, w.version = next, w.version+1
	if w.progress != nil {
		w.progress(w.out.Items)
	}
	return nil
}

// one commits one write, unless the same is there.
func (w *writer) one(ctx context.Context, op store.Op) error {
	err := w.st.Commit(ctx, op)
	if !errors.Is(err, store.ErrConflict) {
		return store.Fault(err, "")
	}
	there, err := w.st.Get(ctx, op.Partition, op.Key)
	if err != nil {
		return store.Fault(err, "")
	}
	settled := slices.Contains([]string{integration.Entity, projection.Entity, syncrun.Entity, recovery.Entity}, op.Entity) // at another time
	if settled || there.Entity == op.Entity && bytes.Equal(there.Body, op.Body) {
		return nil
	}
	return fmt.Errorf("%s is there already, and differs: another import has begun to make this company", op.Key)
}

// finish writes the company with its entry in the registry, after which it can be used.
func (w *writer) finish(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	w.out.Items++
	ops := []store.Op{
		w.c.Create(company.Key, company.Entity, w.is).Quietly(),
		store.RegistryOf(w.is.ID).Entry(w.is.ID, company.RegistryEntity, 0, company.Entry{ID: w.is.ID, Name: w.is.Name, CreatedAt: w.is.CreatedAt}),
	}
	if w.version > 0 {
		ops = append(ops, w.c.Delete(markKey, markEntity, w.version).Quietly())
	}
	if w.is.Suspended != nil {
		ops = append(ops, w.c.Create(user.HaltKey, user.HaltEntity, user.Halt{}).Quietly())
	}
	return store.Fault(w.st.Commit(ctx, ops...), "")
}
