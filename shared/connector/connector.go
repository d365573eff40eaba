// Package connector is what the service knows of each kind of provider: how it is configured, which ports it can have,
// how its webhooks are verified and mapped, and how it is fetched. One folder a provider.
package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"orgops/shared/fault"
	"orgops/shared/goal"
	"orgops/shared/integration"
	"orgops/shared/memory"
)

// Connector is one kind of provider. The optional abilities are the interfaces below.
type Connector interface {
	// Kind is its name: "webhook", "github", "feed".
	Kind() string
	// Schema is the JSON Schema (draft 2020-12) of a configuration request, signing secret included where it takes one.
	Schema() json.RawMessage
	// Ports is what a checked configuration asks for: the integration's permissions.
	Ports(config json.RawMessage) []integration.Port
}

// Checker is a connector with rules for a configuration that JSON Schema cannot say. It is given only what meets the
// schema.
type Checker interface {
	CheckConfig(config json.RawMessage) []fault.Problem
}

// Inbound is a connector that is told of changes by webhooks.
type Inbound interface {
	Connector
	// Verify checks a delivery's signature against the live secrets (newest first) before anything is parsed, and its
	// time where the scheme signs one. It answers the provider's id of the delivery, or fault.Unauthenticated.
	Verify(secrets []string, header http.Header, body []byte, now time.Time) (deliveryID string, err error)
	// Sign makes the headers of a delivery that Verify accepts: for certification and samples.
	Sign(secret, deliveryID string, body []byte, now time.Time) http.Header
	// Map turns a verified delivery into actions; none when the delivery is of no interest, such as one that is not
	// about what config names.
	// What cannot be understood is fault.Malformed or fault.Invalid.
	Map(config json.RawMessage, header http.Header, body []byte) ([]Action, error)
	// SampleDelivery is a delivery that maps to at least one action under config: its headers (unsigned) and body.
	SampleDelivery(config json.RawMessage) (http.Header, []byte)
}

// Source is a connector that can be fetched.
type Source interface {
	Connector
	// Fetch gets one page. checkpoint is nil at the start of a run; state is what the last successful run returned.
	Fetch(ctx context.Context, f Fetch) (FetchedPage, error)
}

// Fetch is the input of one page.
type Fetch struct {
	Config      json.RawMessage
	Credentials map[string]string
	Checkpoint  json.RawMessage // from the previous page of this run
	State       json.RawMessage // from the last successful run: validators, cursors
	Full        bool            // ignore validators and cursors
}

// FetchedPage is the output of one page.
type FetchedPage struct {
	Memories   []memory.Draft
	Goals      []goal.Draft
	Failed     int             // items left out because they did not validate
	Checkpoint json.RawMessage // for the next page; nil: this was the last
	State      json.RawMessage // with the last page: kept for the next run
}

// ThrottledError is a provider's request to wait.
type ThrottledError struct{ Until time.Time }

func (e *ThrottledError) Error() string {
	return "throttled by the provider until " + e.Until.Format(time.RFC3339)
}

// Action is one thing that a delivery asks to be done. Exactly one of the drafts is set, as Port says.
type Action struct {
	Port   integration.Port
	Memory *memory.Draft // memory.upsert
	Goal   *goal.Draft   // goal.update
	Note   *NoteDraft    // timeline.note
}

// MaxActions is how many actions one delivery may ask for: their effects and decisions share one commit.
const MaxActions = 30

// NoteDraft is a timeline entry to be.
type NoteDraft struct {
	Title   string          `json:"title"`
	Subject string          `json:"subject"` // the provider's id of what it is about
	Details json.RawMessage `json:"details,omitempty"`
}

// Limits of a note's fields, in bytes.
const (
	maxNoteTitle   = 1024
	maxNoteSubject = 512
	maxNoteDetails = 16 << 10
)

// Check lists what is wrong with a draft; pointers start at at.
func (n NoteDraft) Check(at string) []fault.Problem {
	var problems []fault.Problem
	refuse := func(field, detail string) {
		problems = append(problems, fault.Problem{Pointer: at + "/" + field, Detail: detail})
	}
	if n.Title == "" || len(n.Title) > maxNoteTitle {
		refuse("title", "needs 1 to 1024 bytes")
	}
	if len(n.Subject) > maxNoteSubject {
		refuse("subject", "at most 512 bytes")
	}
	if len(n.Details) > 0 && !bytes.HasPrefix(n.Details, []byte("{")) {
		refuse("details", "must be an object")
	}
	if len(n.Details) > maxNoteDetails {
		refuse("details", "at most 16384 bytes")
	}
	return problems
}
