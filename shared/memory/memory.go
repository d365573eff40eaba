// Package memory is what a company's connectors brought in: one item for each thing that a provider holds.
package memory

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"orgops/shared/fault"
	"orgops/shared/id"
)

// Entity and Prefix are the item's entity and the prefix of its key.
const (
	Entity = "memory"
	Prefix = "MEMORY#"
)

// Memory is one remembered thing, as stored and as the API shows it.
type Memory struct {
	ID          string    `json:"id" doc:"UUIDv8 that follows from provider and externalId"`
	Provider    string    `json:"provider" example:"github"`
	ExternalID  string    `json:"externalId" doc:"what the provider calls it" example:"octo/app/issues/7"`
	Kind        string    `json:"kind" doc:"what it is at the provider" example:"issue"`
	Title       string    `json:"title"`
	Body        string    `json:"body,omitempty" doc:"at most 64 kB; longer text is cut at a character"`
	URL         string    `json:"url,omitempty"`
	ContentHash string    `json:"contentHash" doc:"SHA-256 over kind, title, body and url, base64url"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
}

// Limits of a memory's fields, in bytes.
const (
	maxExternalID = 512
	maxKind       = 64
	maxTitle      = 1024
	maxBody       = 64 << 10
	maxURL        = 2048
	// A body of many characters that JSON escapes is cut sooner, so that the memories of a delivery or of a part of a
	// page always fit one commit.
	maxEncodedBody = 90 << 10
)

// Draft is what a connector found, before it is compared with what is stored.
type Draft struct {
	ExternalID string `json:"externalId"`
	Kind       string `json:"kind"`
	Title      string `json:"title"`
	Body       string `json:"body,omitempty"`
	URL        string `json:"url,omitempty"`
}

// Check lists what is wrong with a draft; pointers start at at. Text that is merely long is not wrong: Apply cuts it.
func (d Draft) Check(at string) []fault.Problem {
	var problems []fault.Problem
	if d.ExternalID == "" || len(d.ExternalID) > maxExternalID {
		problems = append(problems, fault.Problem{Pointer: at + "/externalId", Detail: "needs 1 to 512 bytes"})
	}
	if d.Title == "" {
		problems = append(problems, fault.Problem{Pointer: at + "/title", Detail: "must not be empty"})
	}
	return problems
}

// IDOf is the id of what a provider calls externalID.
func IDOf(provider, externalID string) string { return id.Of("memory", provider, externalID) }

// Key is the sort key of a memory.
func Key(memoryID string) string { return Prefix + memoryID }

// Apply is the memory that results from a draft over old (the zero Memory when there is none); changed is false when
// the content is the same, and then nothing is to be written.
func Apply(old Memory, provider string, d Draft, now time.Time) (m Memory, changed bool) {
	d.Kind, d.Title, d.Body = cut(d.Kind, maxKind), cut(d.Title, maxTitle), cutEncoded(cut(d.Body, maxBody), maxEncodedBody)
	if len(d.URL) > maxURL {
		d.URL = ""
	}
	hash := contentHash(d)
	if old.ContentHash == hash {
		return old, false
	}
	m = Memory{
		ID: IDOf(provider, d.ExternalID), Provider: provider, ExternalID: d.ExternalID, Kind: d.Kind, Title: d.Title,
		Body: d.Body, URL: d.URL, ContentHash: hash, CreatedAt: now, UpdatedAt: now,
	}
	if old.ID != "" {
		m.CreatedAt = old.CreatedAt
	}
	return m, true
}

func contentHash(d Draft) string {
	b, _ := json.Marshal([]string{d.Kind, d.Title, d.Body, d.URL}) // strings always encode
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cutEncoded shortens s to what takes at most n bytes in JSON as encoding/json writes it.
func cutEncoded(s string, n int) string {
	if len(s) <= n/6 {
		return s
	}
	for i, r := range s {
		switch {
		case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
			n -= 2
		case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
			n -= 6
		default:
			n -= utf8.RuneLen(r)
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}
