package notice

import (
	"slices"
	"time"

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
}

// Told says when and how badly a person was told a matter.
type Told struct {
	At    time.Time `json:"at"`
	Level int       `json:"level,omitempty"`
}

// BoxKey returns the sort key of the box of a person, or of one of the company's channels.
func BoxKey(userID string) string { return BoxPrefix + userID }

// Save returns the write of a person's box.
func (b Box) Save(c store.Company, userID string, version int64) store.Op {
	return c.Save(BoxKey(userID), BoxEntity, version, b).Quietly()
}

// Tell reports whether a matter is new to the person, or worse than within the last day, and remembers it then.
func (b *Box) Tell(m Matter, now time.Time) bool {
	for about, t := range b.Told {
		if now.Sub(t.At) >= again {
			delete(b.Told, about)
		}
	}
	if told, ok := b.Told[m.About]; ok && told.Level >= m.Level {
		return false
	}
	if b.Told == nil || len(b.Told) >= maxTold {
		b.Told = map[string]Told{}
	}
	b.Told[m.About] = Told{At: now.UTC(), Level: m.Level}
	return true
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

// Delay remembers a notice that waits for the end of the hour.
func (b *Box) Delay(noticeID string) {
	if !slices.Contains(b.Delayed, noticeID) && len(b.Delayed) < maxDelayed {
		b.Delayed = append(b.Delayed, noticeID)
	}
}
