package delivery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// LineEntity and LinePrefix name the entity of a line's item and the prefix of its key.
const (
	LineEntity = "line"
	LinePrefix = "LINE#"
)

// MaxLine limits how many deliveries stand in a line. Those beyond it are held, and a recovery sends them.
const MaxLine = 1000

// HeldLine is why a delivery is held whose line was full, or did not come along with an import.
const HeldLine = "line"

// Line holds the events about one record whose deliveries to one ordered endpoint have not ended, in the order of the
// record's changes. Attempts are made for the first alone. The others wait, so that the endpoint never receives an event
// before an earlier one of the same record has arrived or was given up.
//
// The item exists while the line has deliveries. Each change of it is conditional on its version and in one transaction with
// the delivery that joins or ends, so that no crash leaves a delivery waiting for an ended one.
type Line struct {
	Events []string `json:"events"` // ids, the head of the line first
}

// LineKey returns the sort key of the line in which a delivery stands.
func LineKey(d Delivery) string {
	return LinePrefix + strings.TrimSuffix(d.Endpoint+"@"+d.Incarnation, "@") + "#" + d.Line
}

// Lines collects the changes of lines within one transaction.
type Lines struct {
	company store.Company
	open    map[string]*openLine
	woken   []store.Op // deliveries that became due, as the heads of their lines
}

// openLine holds a line and the version of the item that it replaces; 0 for a new line.
type openLine struct {
	Line
	version int64
	changed bool
}

// NewLines makes Lines without a change.
func NewLines(c store.Company) *Lines { return &Lines{company: c, open: map[string]*openLine{}} }

// Size returns how many writes Ops will return at most, without those of deliveries.
func (l *Lines) Size() int { return len(l.woken) + len(l.open) }

// Ops returns the writes of deliveries, and then those of the lines that have changed with them.
func (l *Lines) Ops(deliveries ...store.Op) []store.Op {
	ops := append(slices.Clone(deliveries), l.woken...)
	for _, key := range slices.Sorted(maps.Keys(l.open)) {
		switch line := l.open[key]; {
		case !line.changed:
		case len(line.Events) > 0:
			ops = append(ops, l.company.Save(key, LineEntity, line.version, line.Line).Quietly())
		case line.version > 0:
			ops = append(ops, l.company.Delete(key, LineEntity, line.version).Quietly())
		}
	}
	return ops
}

// Waits reports whether a delivery waits in its line. One whose line was lost, as by an import of an older release, does not.
func (l *Lines) Waits(ctx context.Context, d Delivery) (bool, error) {
	if d.State != Waiting {
		return false, nil
	}
	line, err := l.load(ctx, d)
	if err != nil {
		return false, err
	}
	return slices.Contains(line.Events, d.EventID), nil
}

func (l *Lines) load(ctx context.Context, d Delivery) (*openLine, error) {
	key := LineKey(d)
	if line := l.open[key]; line != nil {
		return line, nil
	}
	line := &openLine{}
	item, err := l.company.Get(ctx, key, &line.Line)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	line.version = item.Version
	l.open[key] = line
	return line, nil
}

// Join starts the schedule of a delivery at now. If the delivery belongs to a line, Join puts it at the line's end: it is due
// only if it is the head. A delivery that already stands in its line keeps its place. Store the delivery and Ops in one transaction.
func (l *Lines) Join(ctx context.Context, d *Delivery, now time.Time) error {
	if d.Line == "" {
		d.Restart(now)
		return nil
	}
	line, err := l.load(ctx, *d)
	if err != nil {
		return err
	}
	if err := l.repair(ctx, *d, line, now); err != nil {
		return err
	}
	place := slices.Index(line.Events, d.EventID)
	if place < 0 {
		if len(line.Events) >= MaxLine {
			d.Hold(HeldLine)
			return nil
		}
		place = len(line.Events)
		line.Events, line.changed = append(line.Events, d.EventID), true
	}
	if place == 0 {
		d.Restart(now)
	} else {
		d.wait()
	}
	return nil
}

// repair lets the line that a delivery joins go on without its head, if the head's delivery is gone. Nothing is known that loses
// a delivery before its end, but the line would wait for it for ever. A delivery joins in one transaction with its record, and
// reads are consistent. So a record that is missing is lost, unless its delivery joined in this transaction. Only the head of an
// old event is looked up, because a record is large to read.
func (l *Lines) repair(ctx context.Context, d Delivery, line *openLine, now time.Time) error {
	if line.changed || len(line.Events) == 0 || line.Events[0] == d.EventID {
		return nil
	}
	if at, known := id.Time(line.Events[0]); !known || now.Sub(at) <= OverdueAfter {
		return nil
	}
	if _, err := l.company.Get(ctx, Key(line.Events[0], d.Endpoint), nil); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	line.Events, line.changed = line.Events[1:], true
	return l.advance(ctx, d, line, now)
}

// Leave takes a delivery that has ended out of its line. If it was the head, the next one becomes due. Store the delivery and Ops in
// one transaction.
func (l *Lines) Leave(ctx context.Context, d Delivery, now time.Time) error {
	if d.Line == "" || d.Open() {
		return nil
	}
	line, err := l.load(ctx, d)
	if err != nil {
		return err
	}
	place := slices.Index(line.Events, d.EventID)
	if place < 0 {
		return nil
	}
	line.Events, line.changed = slices.Delete(line.Events, place, place+1), true
	if place > 0 {
		return nil
	}
	return l.advance(ctx, d, line, now)
}

// advance makes the head of a line due, unless it is d, which the caller writes. A delivery that has expired meanwhile is left out.
func (l *Lines) advance(ctx context.Context, d Delivery, line *openLine, now time.Time) error {
	for ; len(line.Events) > 0 && line.Events[0] != d.EventID; line.Events = line.Events[1:] {
		var next Delivery
		item, err := l.company.Get(ctx, Key(line.Events[0], d.Endpoint), &next)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case next.State == Waiting:
			next.Enqueue(now)
			l.woken = append(l.woken, next.Save(l.company, item.Version))
			return nil
		}
	}
	return nil
}
