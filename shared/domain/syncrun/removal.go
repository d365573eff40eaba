package syncrun

import "time"

// ManyItems is from how many items on a full run that would remove more than half of them waits for a user. So does a run
// that no longer shows any item of one of its lists, however short: an empty list is a statement, but a broken provider makes it too.
const ManyItems = 20

// Await limits how long a run waits for a user. Then it ends without removing anything.
const Await = 3 * 24 * time.Hour

// Removal tells what a full run would remove, and who has agreed.
type Removal struct {
	Items       int        `json:"items" doc:"how many items the run would remove" format:"int32"`
	Of          int        `json:"of" doc:"how many items of the integration are stored, of the kinds that the run lists" format:"int32"`
	Reason      string     `json:"reason" doc:"why the run waits, or why it removed nothing"`
	Until       *time.Time `json:"until,omitempty" doc:"when the run ends without removing anything, unless a user confirms before"`
	ConfirmedBy string     `json:"confirmedBy,omitempty" doc:"the user who confirmed the removal" format:"uuid"`
	ConfirmedAt *time.Time `json:"confirmedAt,omitempty" doc:"when the user confirmed"`
}

// Waits reports whether the run waits for a user until a time.
func (r Run) Waits() (until time.Time, ok bool) {
	if r.State != Awaiting || r.Removal == nil || r.Removal.Until == nil {
		return time.Time{}, false
	}
	return *r.Removal.Until, true
}

// Weight counts the stored items that a run lists, without those that it has added, and those of them that it would remove.
type Weight struct {
	Items   int  `json:"items,omitempty"`
	Gone    int  `json:"gone,omitempty"`
	Emptied bool `json:"emptied,omitempty"` // the run shows no item of a list that has some
	List    List `json:"list,omitzero"`     // the list that is being counted

	// First is where the first item is that the run has not shown; nil: it has shown all of them.
	First *Place `json:"first,omitempty"`
}

// List counts the items of one list, with those that the run has added.
type List struct {
	Items int `json:"items,omitempty"`
	Gone  int `json:"gone,omitempty"`
}

// Filled names the lists of which full runs have shown items. A list that shows none any more is as likely to be broken as to be empty.
type Filled struct {
	Lists  Digests `json:"lists,omitempty"`
	Source string  `json:"source,omitempty"` // what the run fetched, as Work.Source
}

// Emptied reports whether one of the lists is missing among those of which a run of a source has shown items.
func (f Filled) Emptied(shown Digests, source string) bool {
	return f.Source == source && len(f.Lists.without(shown)) > 0
}

// After returns the lists after a full run of a source. Those before stay as long as the run has left the removal of items to the next one.
func (f Filled) After(shown Digests, source string, left Missed) Filled {
	if f.Source == source && left.IDs.Len() > 0 {
		shown = append(f.Lists.without(shown), shown...)
	}
	return Filled{shown, source}
}

// Place is a place among the stored items.
type Place struct {
	Entity string `json:"entity"`
	After  string `json:"after,omitempty"`
}

// Turn ends the counting of a list.
func (w Weight) Turn() Weight {
	w.Emptied = w.Emptied || w.List.Items > 0 && w.List.Gone == w.List.Items
	w.List = List{}
	return w
}

// Heavy reports whether a user has to agree to the removal.
func (w Weight) Heavy() bool { return w.Emptied || w.Items >= ManyItems && 2*w.Gone > w.Items }
