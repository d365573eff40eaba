package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/mapping"
	"orgops/shared/webhook/outbound"
)

// Trial says what to fetch.
type Trial struct {
	Manifest    *manifest.Manifest
	Config      json.RawMessage
	Credentials map[string]string
	Pages       int              // that are fetched at most
	Client      *outbound.Client // sends the requests
	Recorded    []Exchange       // take the place of the server; nil: there is one
	Check       Check
	Now         func() time.Time

	// Permit fetches a page under the policies. Nil: none apply.
	Permit func(ctx context.Context, fetch Fetch) (connector.FetchedPage, error)
}

// Fetch fetches a page.
type Fetch func(ctx context.Context) (connector.FetchedPage, error)

// Page tells what one page took and brought. It has no credentials, although a server may send them back.
type Page struct {
	Exchanges []Exchange
	Records   []string // as the provider sends them
	Actions   []Action
	Skipped   []connector.Skipped
	Warnings  []string
}

// Action is what a record asks for.
type Action struct {
	Port  integration.Port
	Draft string // as JSON
}

// Run fetches pages as a full sync does. It returns the pages that it has fetched, the page that failed included, and whether more follows.
// A fault.Invalid lists what is wrong with the manifest's addresses, the configuration or the credentials, each with its place in an object
// of the three.
func (t Trial) Run(ctx context.Context) (pages []Page, more bool, err error) {
	wire := &wire{client: t.Client, recorded: t.Recorded, credentials: t.Credentials}
	client := t.Client.Through(wire)
	c := manifest.New(t.Manifest.Kind, func() *manifest.Manifest { return t.Manifest }, client, t.Now)
	if err := t.check(c); err != nil {
		return nil, false, err
	}
	var page Page
	f := connector.Fetch{
		Config: t.Config, Credentials: t.Credentials, Full: true, Mapper: new(mapping.Cache),
		Show: func(record json.RawMessage) { page.Records = append(page.Records, wire.hide(string(record))) },
	}
	for range t.Pages {
		page = Page{}
		fetched, err := t.permitted(ctx, func(ctx context.Context) (connector.FetchedPage, error) { return connector.FetchBy(ctx, c, c.Fetch, f) })
		page.Exchanges = wire.taken()
		err = errors.Join(err, page.bring(fetched, wire.hide))
		pages = append(pages, page)
		if f.Checkpoint = fetched.Checkpoint; err != nil || f.Checkpoint == nil {
			return pages, false, err
		}
	}
	return pages, true, nil
}

// bring tells what a page brings.
func (p *Page) bring(fetched connector.FetchedPage, hide func(string) string) (all error) {
	add := func(port integration.Port, draft any) {
		text, err := json.Marshal(draft)
		all = errors.Join(all, err)
		p.Actions = append(p.Actions, Action{port, hide(string(text))})
	}
	for _, m := range fetched.Memories {
		add(integration.MemoryUpsert, m)
	}
	for _, g := range fetched.Goals {
		add(integration.GoalUpdate, g)
	}
	for _, n := range fetched.Notes {
		add(integration.TimelineNote, n)
	}
	for _, s := range fetched.Skipped {
		p.Skipped = append(p.Skipped, connector.Skipped{Item: hide(s.Item), Reason: hide(s.Reason)})
	}
	for _, w := range fetched.Warnings {
		p.Warnings = append(p.Warnings, hide(w))
	}
	return all
}

func (t Trial) permitted(ctx context.Context, fetch Fetch) (connector.FetchedPage, error) {
	if t.Permit == nil {
		return fetch(ctx)
	}
	return t.Permit(ctx, fetch)
}

// check refuses a manifest that leads to no address, and a configuration and credentials that the manifest does not allow.
func (t Trial) check(c *manifest.Connector) error {
	problems, err := t.Check(c.Schema(), t.Config)
	if err == nil && len(problems) == 0 {
		problems = c.CheckConfig(t.Config)
	}
	problems = append(fault.Below("/manifest", t.Manifest.CheckAddresses(t.Client)), fault.Below("/configuration", problems)...)
	if len(t.Credentials) > 0 {
		given, _ := json.Marshal(t.Credentials) // texts always encode
		wrong, failed := t.Check(c.CredentialSchema(), given)
		problems = append(problems, fault.Below("/credentials", wrong)...)
		err = errors.Join(err, failed)
	}
	if t.Recorded == nil {
		for _, name := range connector.Missing(c, t.Config, slices.Collect(maps.Keys(t.Credentials))) {
			problems = append(problems, fault.FieldError{Pointer: fault.Pointer("credentials", name), Detail: "is missing"})
		}
	}
	return errors.Join(err, fault.Refuse(problems))
}
