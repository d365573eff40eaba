package syncrun

import "time"

// MaxMissed limits the items of a Missed. The run that finds more leaves the others to the runs after it.
const MaxMissed = 1000

// Missed lists the items that a full run did not see in a list with numbered pages, and did not remove. A deletion at the
// provider between two pages moves an item past the reader, so only an item that the next full run misses too is gone.
type Missed struct {
	IDs    Digests   `json:"ids,omitempty"`
	Source string    `json:"source,omitempty"` // what the run fetched, as Work.Source
	Began  time.Time `json:"began,omitzero"`   // when the run began
}

// Without returns the list without some items, which have been seen since.
func (m Missed) Without(found Digests) Missed {
	if m.IDs = m.IDs.without(found); len(m.IDs) == 0 {
		return Missed{}
	}
	return m
}
