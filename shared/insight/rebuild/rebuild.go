// Package rebuild rebuilds a company's context from its records while clients write and the projector folds.
//
// A rebuild commits a mark and waits until the projector has folded it. From then on the projector stores, with each context,
// the items that the folded changes touched. The rebuild reads all records, commits a second mark and waits for it too. Every
// change that the records may already show is then folded. So the records, with the touched items in place of what was read,
// are the state after the last change folded. The rebuild computes the context of that state and replaces the stored one, on
// the condition that the projector has not written it in between; otherwise it repeats this last step.
//
// A mark orders the changes of its shard only. If the feed has several shards, the rebuild reads the records before the second mark
// and after it, some seconds apart from it, and waits until the projector has folded each difference between the two. What is not
// folded then was stored before the mark, so that the records show it and the projector skips it (see projection.Context.Rebuilt),
// or was stored after they were read.
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/base/wait"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// Limits of a rebuild.
const (
	MaxTime  = time.Hour // after which the projector ends it
	maxTries = 100       // of the last step, and of a mark
	patience = 2 * time.Minute
	firstGap = 20 * time.Millisecond // between two looks at the context
	lastGap  = time.Second
	apart    = 3 * time.Second // from a mark to what is read before and after it: the stream gives times to the second
)

// Errors of a rebuild. It has changed nothing then, and can be repeated.
var (
	ErrIdle  = fmt.Errorf("the context has not followed the company's changes for %v; is the service running?", patience)
	ErrOther = errors.New("another rebuild of this company has begun, or this one took longer than an hour")
	ErrBusy  = fmt.Errorf("the company's changes were faster than the rebuild %d times", maxTries)
	ErrLate  = fmt.Errorf("some of the company's changes were not folded for %v; is the projector late?", patience)
)

// errOpen says that not every difference between the two reads is folded.
var errOpen = errors.New("changes of the records are not folded yet")

// Outcome says what a rebuild did.
type Outcome struct {
	Company        string `json:"company"`
	Records        int    `json:"records"`           // read
	ContextVersion int64  `json:"contextVersion"`    // of the rebuilt context
	Damaged        string `json:"damaged,omitempty"` // which records could not be decoded and are left out
}

// Company rebuilds a company's context. now gives the time. told is called from time to time with the number of records that
// have been read. Company holds the company's records in memory.
func Company(ctx context.Context, c store.Company, now func() time.Time, told func(records int)) (Outcome, error) {
	r := &rebuilding{c: c, now: now, until: now().UTC().Add(MaxTime), records: map[string]store.Item{}}
	if err := r.mark(ctx, 1); err != nil {
		return Outcome{}, err
	}
	if err := r.read(ctx, told); err != nil {
		return Outcome{}, err
	}
	if r.shards && !wait.For(ctx, apart) {
		return Outcome{}, ctx.Err()
	}
	if err := r.mark(ctx, 2); err != nil {
		return Outcome{}, err
	}
	if err := r.again(ctx, told); err != nil {
		return Outcome{}, err
	}
	return r.end(ctx)
}

// again reads the records again if the feed has several shards, and notes which have changed.
func (r *rebuilding) again(ctx context.Context, told func(int)) error {
	if !r.shards {
		return nil
	}
	if !wait.For(ctx, apart) {
		return ctx.Err()
	}
	before := r.records
	r.records, r.open = map[string]store.Item{}, map[string]bool{}
	if err := r.read(ctx, told); err != nil {
		return err
	}
	soon := r.now().Add(time.Minute)
	for key, was := range before {
		_, exists := r.records[key]
		expires := !was.Expires.IsZero() && was.Expires.Before(soon)
		if !exists && !expires && was.Entity != timeline.Entity { // only the newest entries are read
			r.open[key] = projection.Shows(was.Entity)
		}
	}
	for key, is := range r.records {
		was, existed := before[key]
		if !existed || was.Version != is.Version || !was.At.Equal(is.At) {
			r.open[key] = projection.Shows(is.Entity) && is.Entity != arrival.Entity // its changes are not all in the feed
		}
	}
	maps.DeleteFunc(r.open, func(_ string, shown bool) bool { return !shown })
	return nil
}

// end replaces the context as soon as the projector is far enough.
func (r *rebuilding) end(ctx context.Context) (Outcome, error) {
	tries := 0
	for gap, idle := firstGap, time.Duration(0); tries < maxTries; {
		out, err := r.replace(ctx)
		switch {
		case errors.Is(err, errOpen):
			if idle += gap; idle > patience {
				return Outcome{}, ErrLate
			}
			if !wait.For(ctx, gap) {
				return Outcome{}, ctx.Err()
			}
			gap = min(2*gap, lastGap)
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrUnknown):
			tries++
		default:
			return out, err
		}
	}
	return Outcome{}, ErrBusy
}

// rebuilding holds the state of one rebuild.
type rebuilding struct {
	c       store.Company
	now     func() time.Time
	id      string
	until   time.Time
	records map[string]store.Item // by key: as read, or as touched since
	touched string                // the last list of touched items that records include
	unknown Outcome               // of the last commit whose outcome is unknown
	shards  bool                  // the feed has several
	since   time.Time             // if it has: when the second mark was stored
	open    map[string]bool       // keys of records that changed between the two reads and are not known to be folded
}

// mark commits a mark and waits until the projector has folded it.
func (r *rebuilding) mark(ctx context.Context, n int) error {
	if err := r.commitMark(ctx, n); err != nil {
		return fmt.Errorf("mark the change feed: %w", err)
	}
	var applied store.Sequence
	for gap, idle := firstGap, time.Duration(0); ; gap = min(2*gap, lastGap) {
		p, _, err := projection.Load(ctx, r.c)
		if err != nil {
			return err
		}
		is := p.Rebuilding
		if is.ID == r.id && is.Mark >= n {
			r.shards, r.since = len(p.Shards) > 0, is.At
			return nil
		}
		if err := r.overtaken(ctx, n, is.ID); err != nil {
			return err
		}
		if idle += gap; p.Applied != applied {
			applied, idle = p.Applied, 0
		}
		if idle > patience {
			return ErrIdle
		}
		if !wait.For(ctx, gap) {
			return ctx.Err()
		}
	}
}

// overtaken returns ErrOther if the n-th mark will never show in a context that shows the marks of a rebuild, "" for none.
func (r *rebuilding) overtaken(ctx context.Context, n int, shown string) error {
	if n > 1 && shown != r.id || !r.now().Before(r.until) {
		return ErrOther
	}
	if shown == r.id || shown == "" {
		return nil
	}
	var latest projection.Rebuilding // the shown one may be of an earlier rebuild that was given up
	if _, err := r.c.Get(ctx, projection.MarkKey, &latest); err != nil {
		return err
	}
	if latest.ID != r.id {
		return ErrOther
	}
	return nil
}

// commitMark commits a mark over the last one. The first mark gives the rebuild its id, which no other rebuild has, because
// only one commit can replace the last mark.
func (r *rebuilding) commitMark(ctx context.Context, n int) error {
	for range maxTries {
		var last projection.Rebuilding
		item, err := r.c.Get(ctx, projection.MarkKey, &last)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		switch {
		case n > 1 && last.ID != r.id:
			return ErrOther
		case n > 1 && last.Mark == n: // a commit whose outcome was unknown
			return nil
		case n == 1:
			r.id = id.At(r.until, r.c.ID(), strconv.FormatInt(item.Version, 10))
		}
		mark := projection.Rebuilding{ID: r.id, Mark: n, Until: r.until}
		err = r.c.Commit(ctx, r.c.Save(projection.MarkKey, projection.MarkEntity, item.Version, mark))
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			return err
		}
	}
	return ErrOther
}

// queries returns the queries for the records that a context shows. Of the timeline it shows the newest entries only.
func queries() []store.Query {
	all := []store.Query{{Prefix: timeline.Prefix, Desc: true, Limit: projection.MaxTimeline}}
	for _, prefix := range []string{
		company.Key, integration.Prefix, goal.Prefix, syncrun.Prefix, delivery.Prefix, memory.Prefix, recommendation.Prefix, goal.ExplanationPrefix,
		policy.StoredKey, approval.Prefix, arrival.ReceiptsPrefix, arrival.Prefix,
	} {
		all = append(all, store.Query{Prefix: prefix})
	}
	return all
}

// read reads the records.
func (r *rebuilding) read(ctx context.Context, told func(int)) error {
	for _, q := range queries() {
		for {
			page, err := r.c.Query(ctx, q)
			if err != nil {
				return err
			}
			for _, item := range page.Items {
				r.records[item.Key] = item
			}
			told(len(r.records))
			if q.After = page.Next; q.After == "" || q.Desc { // the newest entries are one page
				break
			}
		}
	}
	return nil
}

// replace puts the touched items in place of the records that were read, and replaces the context. It returns
// store.ErrConflict if the projector was faster.
func (r *rebuilding) replace(ctx context.Context) (Outcome, error) {
	old, version, err := projection.Load(ctx, r.c)
	if err != nil {
		return Outcome{}, err
	}
	if old.Rebuilding.ID != r.id {
		if old.Rebuilding.ID == "" && r.unknown.ContextVersion > 0 && r.now().Before(r.until) {
			return r.unknown, nil // only a rebuilt context ends a rebuild early
		}
		return Outcome{}, ErrOther
	}
	if r.touched, err = projection.ReadTouched(ctx, r.c, r.id, r.touched, r.put); err != nil {
		return Outcome{}, err
	}
	if len(r.open) > 0 {
		return Outcome{}, errOpen
	}
	next, failed := projection.Rebuild(old, slices.Collect(maps.Values(r.records)))
	if r.shards {
		next.Rebuilt = r.since
	}
	out := Outcome{Company: r.c.ID(), Records: len(r.records), ContextVersion: next.ContextVersion}
	if err := failed.Err(); err != nil {
		out.Damaged = err.Error()
	}
	err = r.c.Commit(ctx, projection.Save(r.c, version, next))
	if errors.Is(err, store.ErrUnknown) {
		r.unknown = out
	}
	return out, err
}

// put puts a touched item in place of its record, unless the record was read later.
func (r *rebuilding) put(t projection.Touched) {
	is := r.records[t.Key]
	late := r.shards && t.Stored.Before(r.since)
	if !late || is.Version == t.Version && (t.Version == 0 || is.At.Equal(t.At)) {
		delete(r.open, t.Key)
	}
	if late {
		return
	}
	if t.Version == 0 {
		delete(r.records, t.Key)
		return
	}
	r.records[t.Key] = store.Item{Key: t.Key, Entity: t.Entity, Version: t.Version, At: t.At, Body: t.Body}
}
