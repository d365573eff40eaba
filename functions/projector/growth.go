package projector

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/storage/store"
)

// A company grows to the next number of sub-partitions when it has had more changes than this for each of its sub-partitions in each
// of some minutes in succession. One change takes about five write units with all that follows from it, so that is a third of what
// DynamoDB writes to one key. A level begins ten minutes later, and much may happen by then.
const (
	busyChanges = 60 * 60 // in a minute
	busyMinutes = 5
	// paceShare is how many changes a process counts before it adds them to the shared count. A company with fewer in a minute costs
	// nothing. It is small, because many processes may share a busy company's changes.
	paceShare  = 100
	paceEntity = "pace"
	paceTries  = 4
	paceKept   = time.Hour
)

// pace counts the changes of a company in one minute.
type pace struct {
	Minute  time.Time `json:"minute"`
	Changes int       `json:"changes"`
	Busy    int       `json:"busy"` // busy minutes in succession before this one
}

// add counts changes in a minute.
func (p pace) add(minute time.Time, changes, parts int) pace {
	switch {
	case minute.Equal(p.Minute):
	case minute.Equal(p.Minute.Add(time.Minute)) && p.busy(parts):
		p = pace{Minute: minute, Busy: p.Busy + 1}
	default:
		p = pace{Minute: minute}
	}
	p.Changes += changes
	return p
}

func (p pace) busy(parts int) bool { return p.Changes > busyChanges*parts }

// counted is what a process has counted of a company and not yet added to its pace.
type counted struct {
	minute  time.Time
	changes int
}

// count counts changes of a company that were folded, and lets the company grow if there are many for long. A failure costs only
// time: the next changes are counted too.
func (p *Projector) count(ctx context.Context, company string, changes int) {
	spreader, spreads := p.Store.(store.Spreader)
	if !spreads {
		return
	}
	if n, minute := p.due(company, changes); n > 0 {
		if err := p.grow(ctx, spreader, company, minute, n); err != nil {
			p.Logger.WarnContext(ctx, "the pace of a company not recorded", "company", company, "error", err)
		}
	}
}

// due adds to what this process has counted in this minute, and returns what to add to the shared count, if it is enough.
func (p *Projector) due(company string, changes int) (int, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	minute := p.Now().UTC().Truncate(time.Minute)
	if p.paces == nil || len(p.paces) > maxHot {
		p.paces = map[string]counted{}
	}
	one := p.paces[company]
	if !one.minute.Equal(minute) {
		one.minute, one.changes = minute, 0
	}
	n := one.changes + changes
	if one.changes = n; n >= paceShare {
		one.changes = 0
	} else {
		n = 0
	}
	p.paces[company] = one
	return n, minute
}

// grow adds to the shared pace of a company, and announces more sub-partitions if it was busy for long.
func (p *Projector) grow(ctx context.Context, spreader store.Spreader, company string, minute time.Time, changes int) error {
	parts, err := spreader.Parts(ctx, company)
	if err != nil {
		return err
	}
	at := slices.Index(store.PartCounts(), parts)
	if at+1 == len(store.PartCounts()) {
		return nil
	}
	for range paceTries {
		var is pace
		item, err := p.Store.Get(ctx, store.Spread(), company)
		if err == nil {
			err = item.Decode(&is)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		is = is.add(minute, changes, parts)
		err = p.Store.Commit(ctx, store.Spread().Entry(company, paceEntity, item.Version, is).Until(minute.Add(paceKept)))
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err == nil && is.busy(parts) && is.Busy+1 >= busyMinutes {
			if parts, err = spreader.Spread(ctx, company, store.PartCounts()[at+1]); err == nil {
				p.Logger.InfoContext(ctx, "a company grows", "company", company, "subPartitions", parts)
			}
		}
		return err
	}
	return store.ErrConflict
}
