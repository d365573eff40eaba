package connector

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/webhook/outbound"
)

// Source fetches items from a provider.
type Source interface {
	Connector
	// Fetch gets one page. Checkpoint is nil for the first page of a run; State comes from the last successful run.
	Fetch(ctx context.Context, f Fetch) (FetchedPage, error)
}

// Authenticated describes the credentials of a source. A company stores them in the vault.
type Authenticated interface {
	Source
	Credentialed
	// NeededCredentials lists the credentials without which a fetch cannot succeed under config.
	NeededCredentials(config json.RawMessage) []string
}

// Credentialed takes credentials.
type Credentialed interface {
	Addressed
	// CredentialSchema returns the JSON Schema of the credentials: an object whose fields are writeOnly strings.
	CredentialSchema() json.RawMessage
}

// CredentialChecker checks credentials against rules that their JSON Schema cannot express. No problem quotes a value.
type CredentialChecker interface {
	CheckCredentials(credentials map[string]string) []fault.FieldError
}

// Lister is a source whose full runs list everything that the provider has of some kinds. The service removes what such a run
// does not list.
type Lister interface {
	Source
	Lists(config json.RawMessage) Listed
}

// Listed says what the full runs of a source list completely.
type Listed struct {
	Kinds []string // of memories
	Goals bool
}

// FetchPage calls the source's Fetch. With credentials, its requests go to the configured origin only. With a base they go to that one
// instead, and the context's permit is asked about the configured host too. The page warns of different items with the same id.
func FetchPage(ctx context.Context, source Source, f Fetch) (FetchedPage, error) {
	return FetchBy(ctx, source, source.Fetch, f)
}

// FetchBy does what FetchPage does, by the Fetch of a connector whose type the caller knows. The linker keeps the Fetch of every
// connector in a program that calls FetchPage, and only this one's in a program that calls FetchBy.
func FetchBy(ctx context.Context, c Connector, fetch func(context.Context, Fetch) (FetchedPage, error), f Fetch) (FetchedPage, error) {
	origin := Origin(c, f.Config)
	if f.Base != "" {
		if err := outbound.Permitted(ctx, origin); err != nil {
			return FetchedPage{}, err
		}
		origin = outbound.Origin(f.Base)
	}
	if origin != "" && len(f.Credentials) > 0 {
		ctx = outbound.WithOrigin(ctx, origin)
	}
	page, err := fetch(ctx, f)
	page.warnOfSameID()
	return page, err
}

// Missing lists the credentials that a source needs under config and that are not among the names of the stored ones. The access of a
// connection takes the place of all.
func Missing(c Connector, config json.RawMessage, stored []string) []string {
	missing := []string{}
	if a, ok := c.(Authenticated); ok && !slices.Contains(stored, integration.AccessToken) {
		for _, name := range a.NeededCredentials(config) {
			if !slices.Contains(stored, name) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

// Fetch holds the input for one page.
type Fetch struct {
	Config      json.RawMessage
	Credentials map[string]string            // what was stored by hand or, under integration.AccessToken, the bearer token of a connection
	Base        string                       // stands for the configured origin, of a connection that leads through another address; "": none
	Checkpoint  json.RawMessage              // from the previous page of this run
	State       json.RawMessage              // from the last successful run: validators, cursors
	Full        bool                         // ignore validators and cursors
	Only        string                       // names the one stream to read, of a connector with streams; "": all
	Mapper      Mapper                       // for a source whose items are mapped
	Show        func(record json.RawMessage) // is told each record of a manifest's stream; nil: nothing is shown
	Tallies     []*goal.Tally                // of a connector with streams: reset with the first page of their stream, and given the value of each record
}

// TalliesOf returns the tallies of a stream.
func (f Fetch) TalliesOf(stream string) (of []*goal.Tally) {
	for _, t := range f.Tallies {
		if t.Source.Stream == stream {
			of = append(of, t)
		}
	}
	return of
}

// Mapper turns the records of a source into actions, by a mapping in the language of package mapping. It keeps a mapping compiled under
// a name that no other mapping has. It returns fault.Invalid or fault.Malformed for a record of which the mapping makes no action it could.
type Mapper interface {
	Map(ctx context.Context, name string, mapping, config json.RawMessage, record []byte) ([]Action, error)
}

// FetchedPage holds the items of one page and where to continue.
type FetchedPage struct {
	Memories   []memory.Draft
	Goals      []goal.Draft
	Notes      []NoteDraft
	Gone       []Action        // memories and goals that the provider says it has deleted
	List       string          // names the list that the page belongs to, where a run reads several; the same in every run
	Skipped    []Skipped       // items that the connector cannot make a draft of
	Warnings   []string        // what the user should look at, although the page was read
	Checkpoint json.RawMessage // for the next page; nil on the last page
	State      json.RawMessage // set on the last page, for the next run
	NotBefore  time.Time       // the provider asks to fetch the next page no sooner; zero: at once
	// CredentialsUntil is when the credentials expire, if the provider says so.
	CredentialsUntil time.Time
	Incomplete       bool // the page has items that cannot be identified, so the run does not tell what is gone
	// Shifting is set on the second and each later page of a list whose pages are numbered or counted off. A deletion between
	// two pages moves an item of the later one past the reader. So what the run misses is removed only if the next full run
	// misses it too. A cursor that names an item does not shift.
	Shifting bool
}

// Skipped names an item that is left out, as far as it has a name, and says why.
type Skipped struct{ Item, Reason string }

// ErrRefused reports that the provider refused the credentials, or refused to show what the configuration names. A retry
// cannot help.
var ErrRefused = errors.New("refused by the provider")

// ThrottledError reports that the provider asks the caller to wait.
type ThrottledError struct {
	Until   time.Time
	Failing bool // the provider has failed, so that the same request may fail each time
}

func (e *ThrottledError) Error() string {
	return "throttled by the provider until " + e.Until.Format(time.RFC3339)
}
