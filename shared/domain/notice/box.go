package notice

import (
	"maps"
	"slices"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// BoxEntity and BoxPrefix name the entity of a person's box and the prefix of its key.
const (
	BoxEntity = "notice-box"
	BoxPrefix = "NOTICEBOX#"
)

// PerHour limits the mails to one person in an hour. The rest comes together in one mail.
const PerHour = 10

// again is how long a person is not told the same matter again, unless it worsens.
const again = 24 * time.Hour

// Limits of a box: the matters and the delayed notices that it remembers.
const (
	maxTold    = 300
	maxDelayed = 500
)

// Box remembers what one person was told. Each mail changes it, so that two workers conflict.
type Box struct {
	Told    map[string]Told `json:"told,omitempty"`    // by the matter
	Sent    []time.Time     `json:"sent,omitempty"`    // of the last hour
	Key     []byte          `json:"key,omitempty"`     // signs the links that end mails
	Chosen  map[Kind]int    `json:"chosen,omitempty"`  // how often the person chose a kind again; the links of before are revoked
	Delayed []string        `json:"delayed,omitempty"` // notices that wait for the end of the hour
	NextAt  time.Time       `json:"nextAt,omitzero"`   // of a Slack channel: no message sooner
	Briefed time.Time       `json:"briefed,omitzero"`  // when the last brief was due
}

// Told says when and how badly a person was told a matter. Of a matter that turns, it says how it stands.
type Told struct {
	At    time.Time `json:"at"` // of a matter that turns: when the last turn was heard of
	Level int       `json:"level,omitempty"`
	Turn  string    `json:"turn,omitempty"`  // the name of the last turn
	Of    time.Time `json:"of,omitzero"`     // when it happened
	Said  string    `json:"said,omitempty"`  // the turn that the person was told last, or is told now
	By    string    `json:"by,omitempty"`    // the id of the notice that tells it
	Since time.Time `json:"since,omitzero"`  // when it was sent last
	Lasts bool      `json:"lasts,omitempty"` // the last turn is a beginning
}

// open reports whether the person may have heard that a matter has begun, and not that it has ended. It is not forgotten with the day.
func (t Told) open() bool { return t.Lasts && !t.Since.IsZero() }

// before orders what a full box forgets: what is open comes last.
func (t Told) before(other Told) int {
	switch {
	case t.open() == other.open():
		return t.At.Compare(other.At)
	case other.open():
		return -1
	}
	return 1
}

// calm is the least time between a notice of a matter that turns and the next notice that it has begun again.
const calm = time.Hour

// BoxKey returns the sort key of the box of a person, or of one of the company's channels.
func BoxKey(userID string) string { return BoxPrefix + userID }

// Save returns the write of a person's box.
func (b Box) Save(c store.Company, userID string, version int64) store.Op {
	return c.Save(BoxKey(userID), BoxEntity, version, b).Quietly()
}

// Tell reports whether a matter is new to the person, or worse than within the last day, and remembers it then. It is told at due at the
// earliest.
func (b *Box) Tell(m Matter, now time.Time) (due time.Time, ok bool) {
	maps.DeleteFunc(b.Told, func(_ string, t Told) bool { return now.Sub(t.At) >= again && !t.open() })
	was, known := b.Told[m.key()]
	if m.Turn != "" {
		return b.turn(m, was, now)
	}
	if known && was.Level >= m.Level {
		return now, false
	}
	b.remember(m.key(), Told{At: now.UTC(), Level: m.Level})
	return now, true
}

// turn is Tell for a matter that turns: it is told whenever it stands otherwise than the person was told last. Its end is told at once, to a
// person who was told of it. That it has begun again is told an hour after the last notice, if it still stands so then: see Turned.
func (b *Box) turn(m Matter, was Told, now time.Time) (due time.Time, ok bool) {
	if m.Turn == Begins && now.Sub(was.At) >= again { // its end was not heard of: the endpoint was removed
		was = Told{}
	}
	if was.Turn == m.Name || !m.At.After(was.Of) {
		return now, false
	}
	is := was
	is.At, is.Turn, is.Of, is.Lasts = now.UTC(), m.Name, m.At.UTC(), m.Turn == Begins
	b.remember(m.key(), is)
	switch {
	case was.Since.IsZero():
		return now, m.Turn == Begins
	case m.Turn == Begins:
		return wait.Later(now, was.Since.Add(calm)), true
	}
	return now, was.Said != m.Name
}

func (b *Box) remember(key string, t Told) {
	if b.Told == nil {
		b.Told = map[string]Told{}
	}
	b.Told[key] = t
	for len(b.Told) > maxTold {
		delete(b.Told, slices.MinFunc(slices.Collect(maps.Keys(b.Told)), func(x, y string) int { return b.Told[x].before(b.Told[y]) }))
	}
}

// Turned reports whether a notice is of no use, because its matter has turned since, or because another notice told how it stands.
func (b Box) Turned(n Stored) bool {
	is, known := b.Told[n.About]
	return n.Turns && known && (is.Turn != n.Name || is.Said == n.Name && is.By != n.ID || is.Of.Truncate(time.Millisecond).After(n.CreatedAt))
}

// Say remembers that the person is told a turn now.
func (b *Box) Say(n Stored, now time.Time) {
	if is, known := b.Told[n.About]; n.Turns && known {
		is.Said, is.By, is.Since = n.Name, n.ID, now.UTC()
		b.Told[n.About] = is
	}
}

// Unsay forgets that the person is told a turn: the notice did not arrive. The next turn is told, whichever it is.
func (b *Box) Unsay(n Stored) {
	if is, known := b.Told[n.About]; known && is.By == n.ID {
		is.Said, is.By = "", ""
		b.Told[n.About] = is
	}
}

// HasBrief reports whether the person has had a brief on the day on which one was due.
func (b Box) HasBrief(due time.Time, zone *time.Location) bool {
	return b.Briefed.In(zone).Format(time.DateOnly) == due.In(zone).Format(time.DateOnly)
}

// Free returns when the person may get the next mail: now, or when the oldest of the last hour is an hour old.
func (b *Box) Free(now time.Time) time.Time {
	kept := b.Sent[:0:0]
	for _, at := range b.Sent {
		if now.Sub(at) < time.Hour {
			kept = append(kept, at)
		}
	}
	b.Sent = kept
	if len(kept) < PerHour {
		return now
	}
	return kept[len(kept)-PerHour].Add(time.Hour)
}

// Release gives back the place in the hour of a mail that was begun at a time, but not taken.
func (b *Box) Release(begun time.Time) {
	if i := slices.IndexFunc(b.Sent, begun.Equal); i >= 0 {
		b.Sent = slices.Delete(b.Sent, i, i+1)
	}
}

// Delay remembers a notice that waits for the end of the hour.
func (b *Box) Delay(noticeID string) {
	if !slices.Contains(b.Delayed, noticeID) && len(b.Delayed) < maxDelayed {
		b.Delayed = append(b.Delayed, noticeID)
	}
}
