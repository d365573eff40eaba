package projection

import (
	"slices"
	"strings"

	"orgops/shared/base/text"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

func (f *folding) timeline(c store.Change) error {
	if c.New == nil {
		f.Timeline = slices.DeleteFunc(f.Timeline, func(e timeline.Entry) bool { return timeline.Key(e.ID) == c.Key })
		return nil
	}
	e, err := decode[timeline.Entry](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	f.exceeded(e)
	if e.Kind == timeline.Note && e.Actor.Type == "integration" {
		f.received(e.Actor.ID, nil, &e.At, c.At)
	}
	e.Title, e.Subject.ID = text.TruncateJSON(e.Title, maxText), text.TruncateJSON(e.Subject.ID, maxSubject)
	if len(e.Details) > maxEntryDetails {
		e.Details = nil
	}
	newer := func(a, b timeline.Entry) int { return strings.Compare(b.ID, a.ID) }
	i, found := slices.BinarySearchFunc(f.Timeline, e, newer)
	if found {
		f.Timeline[i] = e
		return nil
	}
	f.Timeline = slices.Insert(f.Timeline, i, e)
	f.Timeline = f.Timeline[:min(len(f.Timeline), MaxTimeline)]
	return nil
}
