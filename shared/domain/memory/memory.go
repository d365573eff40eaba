// Package memory describes the things that a company's connectors fetched from a provider, such as issues. Each thing is one
// item.
package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
)

// Entity and Prefix name the entity of a memory's item and the prefix of its key.
const (
	Entity = "memory"
	Prefix = "MEMORY#"
)

// Memory holds one thing from a provider, as stored and as the API shows it.
type Memory struct {
	ID          string    `json:"id" doc:"UUIDv8 that follows from provider, incarnation and externalId" format:"uuid"`
	Provider    string    `json:"provider" doc:"the integration that imported the memory" example:"github"`
	Incarnation string    `json:"incarnation,omitempty" doc:"the integration's incarnation; the memories of a deleted integration are kept for reading, and the next one of its name has its own" format:"uuid"`
	ExternalID  string    `json:"externalId" doc:"id of the thing at the provider" example:"octo/app/issues/7"`
	Kind        string    `json:"kind" doc:"kind of the thing at the provider" example:"issue"`
	Title       string    `json:"title" doc:"title of the thing" example:"Login fails on Safari"`
	Body        string    `json:"body,omitempty" doc:"at most 64 kB; longer text is cut at a character"`
	URL         string    `json:"url,omitempty" doc:"web page of the thing at the provider" format:"uri"`
	GoalID      string    `json:"goalId,omitempty" doc:"the goal that the thing is work on" format:"uuid"`
	Work        Work      `json:"work,omitempty" doc:"how far the work is; absent without a goal" enum:"open,done,blocked"`
	ContentHash string    `json:"contentHash" doc:"SHA-256 over kind, title, body and url, and over goal and work if there is a goal, base64url"`
	CreatedAt   time.Time `json:"createdAt" doc:"when it was imported"`
	UpdatedAt   time.Time `json:"updatedAt" doc:"when it last changed"`

	SourceUpdatedAt *time.Time `json:"sourceUpdatedAt,omitempty" doc:"when it last changed at the provider, if the provider says so; an older state changes nothing"`
}

// Work says how far a thing is that is work on a goal.
type Work string

// The states of work.
const (
	WorkOpen    Work = "open"
	WorkDone    Work = "done"
	WorkBlocked Work = "blocked" // open, and waiting for something else
)

// Limits of a memory's fields, in bytes.
const (
	maxExternalID = 512
	maxKind       = 64
	maxTitle      = 1024
	maxBody       = 64 << 10
	maxURL        = 2048
	// maxEncodedBody limits the body as JSON. A body with many escaped characters is cut earlier than maxBody. All memories
	// of one arrival, or of one part of a page, therefore fit one commit.
	maxEncodedBody = 90 << 10
)

// Draft carries a memory as a connector found it, before the comparison with the stored memory.
type Draft struct {
	ExternalID string `json:"externalId"`
	Kind       string `json:"kind"`
	Title      string `json:"title"`
	Body       string `json:"body,omitempty"`
	URL        string `json:"url,omitempty"`
	Goal       string `json:"goal,omitempty"` // the goal that it is work on, as the provider calls it
	Work       Work   `json:"work,omitempty"` // "" with a goal: open

	UpdatedAt   *time.Time `json:"-"` // when the provider says it changed; nil: unknown
	Incarnation string     `json:"-"` // of the integration that has found it
}

// Check lists the problems of a draft. Their JSON pointers start with at. Long text is no problem: Apply cuts it.
func (d Draft) Check(at string) []fault.FieldError {
	var problems []fault.FieldError
	if d.ExternalID == "" || len(d.ExternalID) > maxExternalID {
		problems = append(problems, fault.FieldError{Pointer: at + "/externalId", Detail: "needs 1 to 512 bytes"})
	}
	if d.Title == "" {
		problems = append(problems, fault.FieldError{Pointer: at + "/title", Detail: "must not be empty"})
	}
	if len(d.Goal) > maxExternalID {
		problems = append(problems, fault.FieldError{Pointer: at + "/goal", Detail: "at most 512 bytes"})
	}
	if d.Work != "" && d.Work != WorkOpen && d.Work != WorkDone && d.Work != WorkBlocked {
		problems = append(problems, fault.FieldError{Pointer: at + "/work", Detail: "must be open, done or blocked"})
	}
	return problems
}

// IDOf returns the id of the memory that the provider of an incarnation calls externalID.
func IDOf(provider, incarnation, externalID string) string {
	return id.OfIncarnation("memory", provider, incarnation, externalID)
}

// Key returns the sort key of a memory.
func Key(memoryID string) string { return Prefix + memoryID }

// Apply returns the memory that a draft makes of old; the zero Memory stands for a memory that is new. When the content is
// the same, or the draft is older than old, it returns old, and changed is false. Of the same content it returns the later time.
func Apply(old Memory, provider string, d Draft, now time.Time) (m Memory, changed bool) {
	d = d.Cut()
	hash := contentHash(d)
	if old.ContentHash == hash || older(d.UpdatedAt, old.SourceUpdatedAt) {
		if older(old.SourceUpdatedAt, d.UpdatedAt) {
			old.SourceUpdatedAt = d.UpdatedAt
		}
		return old, false
	}
	m = Memory{
		ID: IDOf(provider, d.Incarnation, d.ExternalID), Provider: provider, Incarnation: d.Incarnation, ExternalID: d.ExternalID, Kind: d.Kind, Title: d.Title,
		Body: d.Body, URL: d.URL, ContentHash: hash, CreatedAt: now, UpdatedAt: now,
		SourceUpdatedAt: cmp.Or(d.UpdatedAt, old.SourceUpdatedAt),
	}
	if d.Goal != "" {
		m.GoalID, m.Work = goal.IDOf(provider, d.Incarnation, d.Goal), d.Work
	}
	if old.ID != "" {
		m.CreatedAt = old.CreatedAt
	}
	return m, true
}

// Cut returns the draft within the limits of a memory's fields: long text is cut, and a long URL is dropped.
func (d Draft) Cut() Draft {
	d.Kind, d.Title, d.Body = text.Truncate(d.Kind, maxKind), text.Truncate(d.Title, maxTitle), text.TruncateJSON(text.Truncate(d.Body, maxBody), maxEncodedBody)
	if len(d.URL) > maxURL {
		d.URL = ""
	}
	if d.Goal == "" {
		d.Work = ""
	} else {
		d.Work = cmp.Or(d.Work, WorkOpen)
	}
	return d
}

// older reports whether a time is known to precede another one.
func older(a, b *time.Time) bool { return a != nil && b != nil && a.Before(*b) }

func contentHash(d Draft) string {
	content := []string{d.Kind, d.Title, d.Body, d.URL}
	if d.Goal != "" {
		content = append(content, d.Goal, string(d.Work))
	}
	b, _ := json.Marshal(content) // strings always encode
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
