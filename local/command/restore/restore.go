package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Restored says what an import has made, and what is left to do: no secret is in an export.
type Restored struct {
	CompanyID    string   `json:"companyId"`
	Name         string   `json:"name"`
	Plan         string   `json:"plan"`
	Changed      []string `json:"changed,omitempty"` // what is other than in the export, apart from missing secrets
	Items        int      `json:"items"`
	Expired      int      `json:"expired,omitempty"`      // items that have expired since the export, and were left out
	NeedPassword []string `json:"needPassword,omitempty"` // e-mail addresses of the users who can log in once they have a password
	NeedSecrets  []string `json:"needSecrets,omitempty"`  // integrations that stay disabled until they get their secrets again
}

// maxUsers limits the users of an import.
const maxUsers = 100_000

// Company makes the company of an export. It reads the whole file before the first write, and refuses a damaged or partial one, an
// item under a key that is not its own, more than the API allows a company, and a company that exists. The company can be used when all is written: its own item is the
// last. After an interruption, the same import continues where it stopped.
//
// All writes but the last are quiet, so that no event is sent again. The versions of the items begin at 1.
// progress, if it is not nil, hears how many items are written.
func Company(ctx context.Context, st store.Store, file io.ReadSeeker, now time.Time, progress func(items int)) (Restored, error) {
	has := counts{known: map[string]bool{}, kinds: map[string]int{}, parts: map[string]string{}}
	bare, left := map[string]integration.Integration{}, &leftBehind{c: store.For(st, ""), now: now.UTC()}
	sum := sha256.New()
	is, err := survey(ctx, io.TeeReader(file, sum), func(l export.Line) error {
		if err := has.take(l); err != nil {
			return err
		}
		if err := collect(bare, l, now.UTC()); err != nil {
			return err
		}
		if err := left.collect(l); err != nil {
			return err
		}
		_, _, err := loginUser(l)
		return err
	})
	if err == nil {
		err = has.whole()
	}
	if err == nil && has.founders == 0 {
		err = errors.New("the export has no active founder, whom a company needs")
	}
	if err != nil {
		return Restored{}, fmt.Errorf("nothing was imported: %w", err)
	}
	plan := is.Plan
	is.Plan = company.DefaultPlan // an export sets no plan
	w := &writer{c: store.For(st, is.ID), st: st, now: now.UTC(), is: is, bare: bare, left: left, progress: progress, out: Restored{CompanyID: is.ID, Name: is.Name, Plan: is.Plan}}
	if plan != is.Plan {
		w.out.Changed = append(w.out.Changed, fmt.Sprintf("the plan is %s instead of %s; the operator sets another", is.Plan, plan))
	}
	if is.Founders != has.founders {
		w.out.Changed = append(w.out.Changed, fmt.Sprintf("the number of founders is %d instead of %d, as the export has them", has.founders, is.Founders))
		w.is.Founders = has.founders
	}
	if err := w.free(ctx); err != nil {
		return Restored{}, err
	}
	if err := w.resume(ctx, hex.EncodeToString(sum.Sum(nil))); err != nil {
		return Restored{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Restored{}, err
	}
	if err := read(ctx, file, func(l export.Line) error { return w.item(ctx, l) }); err != nil {
		return Restored{}, fmt.Errorf("the import stopped, and the company cannot be used; repeat the command with the same file: %w", err)
	}
	if err := w.finish(ctx); err != nil {
		return Restored{}, fmt.Errorf("the import stopped, and the company cannot be used; repeat the command with the same file: %w", err)
	}
	return w.out, nil
}

// loginUser returns the user of a line; ok is false for a line of another entity and for a user without a login.
func loginUser(l export.Line) (u user.User, ok bool, err error) {
	if l.Entity != user.Entity {
		return u, false, nil
	}
	if err := json.Unmarshal(l.Body, &u); err != nil {
		return u, false, fmt.Errorf("the user %s cannot be read", l.Key)
	}
	if !id.Valid(u.ID) {
		return u, false, fmt.Errorf("the user %s has no usable id", l.Key)
	}
	if err := fault.Refuse(user.CheckEmail(u.Email, "/email")); err != nil {
		return u, false, fmt.Errorf("the user %s has no usable e-mail address", l.Key)
	}
	return u, u.State != user.Invited, nil
}

// free refuses a company that exists or was erased here within the last day.
func (w *writer) free(ctx context.Context) error {
	_, _, err := company.Get(ctx, w.c)
	if err == nil {
		return fmt.Errorf("nothing was imported: there is a company %s already", w.is.ID)
	}
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	var halt user.Halt
	if _, err := w.c.Get(ctx, user.HaltKey, &halt); err == nil && halt.Erased {
		return errors.New("nothing was imported: the company was erased here; import it a day later")
	}
	return nil
}

// collect adds the integration of a line, if it has secrets, as it is without them.
func collect(bare map[string]integration.Integration, l export.Line, now time.Time) error {
	var i integration.Integration
	if l.Entity != integration.Entity {
		return nil
	}
	if err := json.Unmarshal(l.Body, &i); err != nil || !id.Valid(i.Provider) {
		return fmt.Errorf("the integration %s cannot be read", l.Key)
	}
	if i, changed := withoutSecrets(i, now); changed {
		bare[i.Provider] = i
	}
	return nil
}

// withoutSecrets returns an integration as it is without its secrets: disabled, until they are there again. An integration that
// needs none stays as it is.
func withoutSecrets(i integration.Integration, now time.Time) (integration.Integration, bool) {
	if i.SecretAt == nil && i.Credentials == nil {
		return i, false
	}
	i.SecretAt, i.Credentials, i.Connection = nil, nil, nil
	i.Disable(integration.DisabledImported, now)
	return i, true
}
