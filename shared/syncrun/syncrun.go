// Package syncrun is one run of a provider's sync: asked for, working, ended, with its counts.
package syncrun

import (
	"encoding/json"
	"time"
)

// Entity and Prefix are the item's entity and the prefix of its key; the slot keeps a provider to one run at a time.
const (
	Entity     = "sync"
	Prefix     = "SYNC#"
	SlotEntity = "sync-slot"
)

// Kept is how long an ended run is kept.
const Kept = 90 * 24 * time.Hour

// Mode says whether a run commits what it fetches.
type Mode string

// The modes.
const (
	Sandbox Mode = "sandbox" // fetch and validate, commit nothing but the run
	Live    Mode = "live"
)

// State is where a run stands.
type State string

// The states.
const (
	Requested State = "requested"
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Ended reports whether nothing more will happen to a run.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Progress counts what a run did so far.
type Progress struct {
	Pages     int `json:"pages"`
	Fetched   int `json:"fetched"`
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
	Failed    int `json:"failed" doc:"items that did not validate and were left out"`
}

// Preview is one item that a sandbox run would have written.
type Preview struct {
	Target     string `json:"target" enum:"memory,goal"`
	ExternalID string `json:"externalId"`
	Kind       string `json:"kind,omitempty"`
	Title      string `json:"title"`
	URL        string `json:"url,omitempty"`
}

// MaxPreview is how many items a preview shows.
const MaxPreview = 20

// Run is one sync run, as stored and as the API shows it.
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

// Work is what the syncer keeps beside a run and the API does not show.
type Work struct {
	CancelRequested bool            `json:"cancelRequested,omitempty"`
	Checkpoint      json.RawMessage `json:"checkpoint,omitempty"` // where the connector goes on
	Done            int             `json:"done,omitempty"`       // items of the page under way that are written and counted
	Tries           int             `json:"tries,omitempty"`      // failures in a row without progress
	LeaseUntil      time.Time       `json:"leaseUntil,omitzero"`  // another worker keeps away until then
}

// Record is a run with its work, as stored.
type Record struct {
	Run
	Work Work `json:"work"`
}

// Slot names the unended run of a provider, "" when there is none; a provider has one slot, so it has one run at a time.
type Slot struct {
	Run string `json:"run"`
	// State is what the connector asked to be kept between runs: validators (ETag, Last-Modified) and cursors.
	// It belongs to the configuration with this digest and is worth nothing under another.
	State        json.RawMessage `json:"state,omitempty"`
	ConfigDigest string          `json:"configDigest,omitempty"`
}

// Job is the queue message that has a run worked on.
type Job struct {
	Company string `json:"company"`
	Run     string `json:"run"`
}

// Key is the sort key of a run.
func Key(runID string) string { return Prefix + runID }

// SlotKey is the sort key of a provider's slot.
func SlotKey(provider string) string { return "SYNCSLOT#" + provider }
