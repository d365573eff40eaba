// Package syncrun describes the runs of a provider's sync: requested, running, ended, with their counts.
package syncrun

import (
	"encoding/json"
	"time"

	"orgops/shared/domain/goal"
)

// Entity and Prefix name the entity of a run's item and the prefix of its key. SlotEntity names the entity of a provider's
// slot, which limits the provider to one run at a time.
const (
	Entity     = "sync"
	Prefix     = "SYNC#"
	SlotEntity = "sync-slot"
)

// Kept limits how long an ended run is kept.
const Kept = 90 * 24 * time.Hour

// Mode says whether a run commits what it fetches.
type Mode string

// The modes.
const (
	Sandbox Mode = "sandbox" // fetch and validate, commit nothing but the run
	Live    Mode = "live"
)

// State says how far a run is.
type State string

// The states.
const (
	Requested State = "requested"
	Running   State = "running"
	Awaiting  State = "awaiting-confirmation"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Ended reports whether the run is over.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Progress counts what a run has done so far.
type Progress struct {
	Pages     int `json:"pages" doc:"pages fetched" format:"int32"`
	Fetched   int `json:"fetched" doc:"items fetched" format:"int32"`
	Created   int `json:"created" doc:"items that are new" format:"int32"`
	Updated   int `json:"updated" doc:"items that have changed" format:"int32"`
	Unchanged int `json:"unchanged" doc:"items that have not changed" format:"int32"`
	Deleted   int `json:"deleted" doc:"items that were removed, because the provider no longer has them" format:"int32"`
	Failed    int `json:"failed" doc:"items that are invalid and were left out" format:"int32"`
}

// Preview shows one item that a sandbox run would have written.
type Preview struct {
	Target     string `json:"target" doc:"whether the item would become a memory, a goal or a note on the timeline" enum:"memory,goal,note"`
	ExternalID string `json:"externalId" doc:"id of the item at the provider"`
	Kind       string `json:"kind,omitempty" doc:"kind of the item at the provider"`
	Title      string `json:"title" doc:"title of the item"`
	URL        string `json:"url,omitempty" doc:"web page of the item at the provider" format:"uri"`
}

// MaxPreview limits how many items a preview shows.
const MaxPreview = 20

// Run describes one sync run, as stored and as the API shows it.
type Run struct {
	ID             string     `json:"id" doc:"UUIDv7" format:"uuid"`
	Provider       string     `json:"provider" doc:"the integration whose items the run fetches" example:"feed"`
	Mode           Mode       `json:"mode" enum:"sandbox,live" doc:"live once the integration is certified"`
	Full           bool       `json:"full" doc:"whether the run fetches every item, or only the items that changed since the last run"`
	State          State      `json:"state" doc:"how far the run is" enum:"requested,running,awaiting-confirmation,succeeded,failed,cancelled"`
	Progress       Progress   `json:"progress" doc:"what the run has done so far"`
	ThrottledUntil *time.Time `json:"throttledUntil,omitempty" doc:"the provider asked the service to wait until this time"`
	Skipped        []Skipped  `json:"skipped,omitempty" doc:"why items were left out, at most 10 reasons; progress.failed counts all of them"`
	Warnings       []string   `json:"warnings,omitempty" doc:"what the source does wrong, or may not mean, although the run went on"`
	Preview        []Preview  `json:"preview,omitempty" doc:"in the sandbox only: the first 20 items that a live run would write"`
	Removal        *Removal   `json:"removal,omitempty" doc:"set if the run would remove so much that it has to ask"`
	Error          string     `json:"error,omitempty" doc:"why the run failed, or what it waits for"`
	RequestedBy    string     `json:"requestedBy,omitempty" doc:"the user who requested the run" format:"uuid"`
	RequestedAt    time.Time  `json:"requestedAt" doc:"when the run was requested"`
	StartedAt      *time.Time `json:"startedAt,omitempty" doc:"when a worker started the run"`
	FinishedAt     *time.Time `json:"finishedAt,omitempty" doc:"when the run ended"`
}

// Work holds the syncer's state of a run. The API does not show it.
type Work struct {
	Turn            int             `json:"turn,omitempty"` // number of calls of Ask: see Due
	Due             time.Time       `json:"due,omitzero"`   // when the message of the turn is due; zero: at once
	CancelRequested bool            `json:"cancelRequested,omitempty"`
	Source          string          `json:"source,omitempty"`     // what the run fetches: the integration, and the certified part of its configuration
	Base            string          `json:"base,omitempty"`       // the address that its pages come through, of a connection that has one
	Checkpoint      json.RawMessage `json:"checkpoint,omitempty"` // where the connector continues
	Done            int             `json:"done,omitempty"`       // items of the current page that are written and counted
	Tries           int             `json:"tries,omitempty"`      // consecutive failures without progress
	Throttled       time.Time       `json:"throttled,omitzero"`   // since when the provider has throttled every fetch
	Begun           int             `json:"begun,omitempty"`      // fetches since the last progress that no worker has come back from
	LeaseUntil      time.Time       `json:"leaseUntil,omitzero"`  // no other worker takes the run before
	Incomplete      bool            `json:"incomplete,omitempty"` // a page may have missed items, so nothing is removed
	Shifting        bool            `json:"shifting,omitempty"`   // a deletion may have moved items past the pages
	Found           Digests         `json:"found,omitempty"`      // items of the slot's Missed that a page of this run has shown
	Lists           Digests         `json:"lists,omitempty"`      // the lists of which a full run has shown items
	Sweep           *Sweep          `json:"sweep,omitempty"`      // set when every page of a full run has been fetched
	Resumed         bool            `json:"resumed,omitempty"`    // the run began with the state of the run before
	Denied          bool            `json:"denied,omitempty"`     // an item of the run was denied, or waits for an approval
	Asked           bool            `json:"asked,omitempty"`      // an item of the run waits for an approval
	Tallies         []goal.Tally    `json:"tallies,omitempty"`    // of the goals that the run measures
	Close           *Close          `json:"close,omitempty"`      // set when everything is read and swept, and only the goals are to be moved
	Shown           []string        `json:"-"`                    // items that pages have shown since the last write, which lists them for the sweep
	Shadowed        []string        `json:"shadowed,omitempty"`   // hosts with a stored decision that the log-only policies would change
}

// Close holds what a run keeps for the next one when it ends.
type Close struct {
	State json.RawMessage `json:"state,omitempty"`
	Swept *Missed         `json:"swept,omitempty"` // nil: the run had no sweep
}

// Sweep holds how far a full run has looked for stored items that the provider no longer has.
type Sweep struct {
	Entity string          `json:"entity,omitempty"` // "": at the beginning
	After  string          `json:"after,omitempty"`  // the last key that was looked at
	State  json.RawMessage `json:"state,omitempty"`  // what the connector keeps after the run
	Missed Digests         `json:"missed,omitempty"` // items that the next full run removes if it misses them too

	Weighed bool   `json:"weighed,omitempty"` // the removal was counted, and may happen
	Weight  Weight `json:"weight,omitzero"`   // of the removal, while it is counted
}

// StoredRun stores a run with its work.
type StoredRun struct {
	Run
	Incarnation string `json:"incarnation,omitempty"` // of the integration; another one of its name ends the run
	Watched     bool   `json:"watched,omitempty"`     // the schedule looks for the run soon, so its first message needs no timer

	Work Work `json:"work"`
}

// Key returns the sort key of a run.
func Key(runID string) string { return Prefix + runID }

// SlotKey returns the sort key of a provider's slot.
func SlotKey(provider string) string { return "SYNCSLOT#" + provider }
