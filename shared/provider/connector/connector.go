// Package connector defines what the service needs from each kind of provider: its configuration schema, its ports, how
// its webhooks are verified and mapped, and how it is fetched. Each provider has its own package.
package connector

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/scheme"
	"orgops/shared/webhook/outbound"
)

// Connector describes one kind of provider. A connector may also implement the interfaces below.
type Connector interface {
	// Kind returns the connector's name: "webhook", "github", "feed".
	Kind() string
	// Schema returns the JSON Schema (draft 2020-12) of a configuration request, including the signing secret if the
	// connector takes one.
	Schema() json.RawMessage
	// Ports returns the ports that a valid configuration asks for. They become the integration's permissions.
	Ports(config json.RawMessage) []integration.Port
}

// Checker checks a configuration against rules that JSON Schema cannot express. The caller passes only configurations that
// meet the schema.
type Checker interface {
	CheckConfig(config json.RawMessage) []fault.FieldError
}

// Addressed sends requests to an address of its configuration.
type Addressed interface {
	// Address returns the URL to which requests under a valid configuration go. What a company stores in the vault for them
	// goes to this URL's origin alone.
	Address(config json.RawMessage) string
}

// Origin returns the origin to which requests under a configuration go, in the form of outbound.Origin. It is "" for a
// connector that sends none.
func Origin(c Connector, config json.RawMessage) string {
	if a, ok := c.(Addressed); ok {
		return outbound.Origin(a.Address(config))
	}
	return ""
}

// Inbound receives changes by webhook.
type Inbound interface {
	Connector
	// Verify checks an arrival's signature under a configuration against the live secrets (newest first), and its time if the scheme signs one.
	// It parses nothing before the signature has matched. It returns the provider's id of the arrival, or "" if the signature does not cover the id: then the
	// body alone identifies the arrival. It returns fault.Unauthenticated for an arrival that does not verify. The
	// detail is a fixed text, which nothing in the arrival changes: the company sees it as the reason.
	Verify(config json.RawMessage, secrets []string, r scheme.Request, now time.Time) (arrivalID string, err error)
	// Sign makes the headers of an arrival that Verify accepts, for certification and samples. It returns none if only the provider can
	// sign.
	Sign(config json.RawMessage, secret, arrivalID string, r scheme.Request, now time.Time) http.Header
	// Headers describes the headers by which Verify tells an arrival, and those that its mapping needs.
	Headers() []Header
	// Document returns the JSON document of a verified arrival: the body itself, unless the provider wraps it. It parses
	// only the wrapping. It returns fault.Malformed for an arrival that is not one of the provider's.
	Document(header http.Header, body []byte) ([]byte, error)
	// Mapping returns the default mapping in the language of package mapping. It turns an arrival into actions unless the
	// company has stored a mapping of its own.
	Mapping() json.RawMessage
	// SampleArrival returns the unsigned headers and the body of an arrival that the default mapping turns into at least one
	// action under config.
	SampleArrival(config json.RawMessage) (http.Header, []byte)
}

// Header describes a header of an arrival.
type Header struct{ Name, Description, Example string }

// Placed is an Inbound whose configuration names a part of the provider, such as a repository, and whose arrivals say which
// part they are about.
type Placed interface {
	Inbound
	// Locate compares the place of an arrival with that of the configuration. known is what earlier arrivals told of it; its
	// id counts, because the name can change.
	Locate(config json.RawMessage, known integration.Place, header http.Header, payload any) Location
}

// Location says whether an arrival concerns an integration.
type Location struct {
	Outside string            // why the arrival does not concern the integration, as a fixed text; "": it does
	Place   integration.Place // what the arrival tells of the configured place; zero: nothing
}

// Ping is the reason to ignore an arrival by which a provider tries the address. It says nothing about what else arrives.
const Ping = "it only tries the address"

// Uncovered is implemented by a connector whose provider may send a token in place of a signature, which covers no body.
type Uncovered interface {
	Inbound
	// Covers reports whether what an arrival with these headers is known by, under a configuration, covers its body.
	Covers(config json.RawMessage, header http.Header) bool
}

// Greeted is implemented by a connector whose provider tries the address with a signed request that expects an answer of its own.
type Greeted interface {
	Inbound
	// Answer returns the text that the answer to such a request repeats, or "" for an answer of 204. ok is false for any other arrival.
	Answer(config json.RawMessage, body []byte) (text string, ok bool)
}

// Large is an Inbound whose arrivals can have more than 1 MiB.
type Large interface {
	Inbound
	// MaxArrival returns the most bytes of a body with these headers, as the provider documents it and at least 1 MiB, and what to do
	// about a larger one. The limit is 0 for a provider that documents none.
	MaxArrival(header http.Header) (limit int64, advice string)
}

// Streaming is a Large whose signature can be checked while a body arrives.
type Streaming interface {
	Large
	// Stream begins to check a body that is not kept. Verify takes the result in the place of the body, and returns no id.
	Stream(secrets []string) *scheme.Streamed
}

// Action holds one action that a provider asks for. Exactly one draft is set; Port says which.
type Action struct {
	Port       integration.Port
	Memory     *memory.Draft     // memory.upsert
	Goal       *goal.Draft       // goal.update
	Reading    *goal.Reading     // goal.update, of a goal of the company's own
	Note       *NoteDraft        // timeline.note
	At         string            // JSON Pointer of the draft in the arrival's body; "" for an item of a sync
	Unreadable *fault.FieldError // why a field of the draft cannot be read, or nil; intake refuses such a draft
	Gone       bool              // the provider says that it has deleted the item; only the draft's id and time count
}

// MaxActions limits the actions of one arrival, because their effects and decisions share one commit.
const MaxActions = 30

// NoteDraft holds a timeline note before intake accepts it.
type NoteDraft struct {
	Title   string          `json:"title"`
	Subject string          `json:"subject"` // the provider's id of the note's subject
	Details json.RawMessage `json:"details,omitempty"`

	Once string     `json:"-"` // identifies what is noted, so that an incarnation notes it once for all time; "": every arrival is
	At   *time.Time `json:"-"` // when it happened, if that was before now; nil: now
}

// Limits of a note's fields, in bytes.
const (
	maxNoteTitle   = 1024
	maxNoteSubject = 512
	maxNoteDetails = 16 << 10
)

// Check lists what is wrong with a draft. The pointers start with at.
func (n NoteDraft) Check(at string) []fault.FieldError {
	var problems []fault.FieldError
	refuse := func(field, detail string) {
		problems = append(problems, fault.FieldError{Pointer: at + "/" + field, Detail: detail})
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
