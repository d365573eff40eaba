// Package syncrun describes the runs of a provider's sync: requested, running, ended, with their counts.
package syncrun

import (
	"encoding/json"
	"time"
)

// Entity and Prefix name the entity of a run's item and the prefix of its key. SlotEntity names the entity of a provider's
// slot, which keeps the provider to one run at a time.
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
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Ended reports whether the run is over.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Progress counts what a run has done so far.
type Progress struct {
	Pages     int `json:"pages"`
	Fetched   int `json:"fetched"`
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
	Failed    int `json:"failed" doc:"items that did not validate and were left out"`
}

// Preview shows one item that a sandbox run would have written.
type Preview struct {
	Target     string `json:"target" enum:"memory,goal"`
	ExternalID string `json:"externalId"`
	Kind       string `json:"kind,omitempty"`
	Title      string `json:"title"`
	URL        string `json:"url,omitempty"`
}

// MaxPreview limits how many items a preview shows.
const MaxPreview = 20

// Run describes one sync run, as stored and as the API shows it.
type Run struct {
	ID             string     `json:"id" doc:"UUIDv7"`
	Provider       string     `json:"provider" example:"feed"`
	Mode           Mode       `json:"mode" enum:"sandbox,live" doc:"live once the connector is certified"`
	Full           bool       `json:"full" doc:"every item again, not only what changed since the last run"`
	State          State      `json:"state" enum:"requested,running,succeeded,failed,cancelled"`
	Progress       Progress   `json:"progress"`
	ThrottledUntil *time.Time `json:"throttledUntil,omitempty" doc:"the provider asked to wait until then"`
	Preview        []Preview  `json:"preview,omitempty" doc:"sandbox only: the first 20 items"`
	Error          string     `json:"error,omitempty" doc:"why it failed"`
	RequestedBy    string     `json:"requestedBy,omitempty" doc:"the user who asked for it"`
	RequestedAt    time.Time  `json:"requestedAt"`
	StartedAt      *time.Time `json:"startedAt,omitempty"`
	FinishedAt     *time.Time `json:"finishedAt,omitempty"`
}

// Work holds the syncer's state of a run. The API does not show it.
type Work struct {
	CancelRequested bool            `json:"cancelRequested,omitempty"`
	Checkpoint      json.RawMessage `json:"checkpoint,omitempty"` // where the connector continues
	Done            int             `json:"done,omitempty"`       // items of the current page that are written and counted
	Tries           int             `json:"tries,omitempty"`      // consecutive failures without progress
	LeaseUntil      time.Time       `json:"leaseUntil,omitzero"`  // no other worker takes the run before
}

// StoredRun stores a run with its work.
type StoredRun struct {
	Run
	Work Work `json:"work"`
}

// Slot names the unended run of a provider, "" if none. A provider has one slot, so it has one run at a time.
type Slot struct {
	Run string `json:"run"`
	// State holds what the connector keeps between runs: validators (ETag, Last-Modified) and cursors.
	// It is valid only for the configuration with this digest.
	State        json.RawMessage `json:"state,omitempty"`
	ConfigDigest string          `json:"configDigest,omitempty"`
}

// Key returns the sort key of a run.
func Key(runID string) string { return Prefix + runID }

// SlotKey returns the sort key of a provider's slot.
func SlotKey(provider string) string { return "SYNCSLOT#" + provider }
