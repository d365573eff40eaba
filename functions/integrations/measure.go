package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/egress"
	"orgops/shared/web"
)

// Limits of a preview of a measure.
const (
	MeasurePages = 20
	measureTime  = 20 * time.Second
)

// MeasurePreviewRequest says which number of an integration a goal would have, as the source of a goal's measure does.
type MeasurePreviewRequest struct {
	Stream    string         `json:"stream" minLength:"1" maxLength:"64" doc:"the list that has the records" example:"invoices"`
	Pointer   string         `json:"pointer" maxLength:"256" doc:"JSON Pointer to the number in a record, or to what is counted; an empty text: the record itself" example:"/amount_paid"`
	Aggregate goal.Aggregate `json:"aggregate" enum:"last,sum,count,min,max,avg" doc:"what becomes of the numbers of all records"`
	Factor    string         `json:"factor,omitempty" maxLength:"32" doc:"what the number is multiplied by; absent: 1" example:"0.01"`
}

// MeasurePreview answers what the value of a goal would be.
type MeasurePreview struct {
	Value    string   `json:"value,omitempty" doc:"the value that the goal would have; absent: the records that were read give none" example:"41200.5"`
	Complete bool     `json:"complete" doc:"whether every record of the list was read, as each sync does"`
	Problem  string   `json:"problem,omitempty" doc:"why there is no value, or why the list was not read to its end"`
	Records  int      `json:"records" doc:"records that were read" format:"int32"`
	Values   int      `json:"values" doc:"records with a value" format:"int32"`
	Record   string   `json:"record,omitempty" doc:"the first record as the provider sends it, to find the pointer by; a long one is cut off; absent: the list has none, or its records are rows" example:"{\"id\":\"in_1\",\"amount_paid\":4200}"`
	Warnings []string `json:"warnings" nullable:"false" doc:"what to look at, although the list was read"`
}

type previewMeasureInput struct {
	ProviderInput
	Body MeasurePreviewRequest
}

type previewMeasureOutput struct{ Body MeasurePreview }

// previewMeasure reads a list as a sync does that measures a goal by it. It stores nothing.
func (d Deps) previewMeasure(ctx context.Context, in *previewMeasureInput) (*previewMeasureOutput, error) {
	a, err := d.accessed(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	of := goal.Source{Provider: in.Provider, Stream: in.Body.Stream, Pointer: in.Body.Pointer, Aggregate: in.Body.Aggregate, Factor: in.Body.Factor}
	if err := fault.Refuse(of.Check("")); err != nil {
		return nil, err
	}
	source, ok := a.conn.(connector.Source)
	streams := connector.StreamsOf(a.conn, a.Config)
	if !ok || len(streams) == 0 {
		return nil, fault.Newf(fault.Conflict, "%s has no lists whose records have numbers; list-connectors names the lists of each connector as streams", in.Provider)
	}
	if !slices.Contains(streams, of.Stream) {
		return nil, fault.RefuseAt("/stream", fmt.Sprintf("%s has no such list; it has %s", in.Provider, strings.Join(streams, ", ")))
	}
	if missing := connector.Missing(source, a.Config, slices.Collect(maps.Keys(a.values))); len(missing) > 0 {
		return nil, fault.Newf(fault.Conflict, "the credential %s is not stored; store it first", missing[0])
	}
	ctx, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	return &previewMeasureOutput{d.measure(ctx, a, source, of)}, nil
}

// measure reads the list of a source.
func (d Deps) measure(ctx context.Context, a accessed, source connector.Source, of goal.Source) MeasurePreview {
	p, tally := MeasurePreview{Warnings: []string{}}, &goal.Tally{Source: of}
	gate := egress.Gate{Engine: d.Engine, Company: web.Tenant(ctx), Integration: a.Integration, Now: d.Now, DryRun: true, Certifying: true}
	f := connector.Fetch{
		Config: a.Config, Credentials: a.values, Base: a.base, Full: true, Only: of.Stream, Mapper: d.mappings, Tallies: []*goal.Tally{tally},
		Show: func(record json.RawMessage) {
			if p.Record == "" {
				p.Record = text.Truncate(connector.Hide(string(record), a.values), maxTrialRecord)
			}
		},
	}
	for pages := 0; !p.Complete && p.Problem == ""; pages++ {
		if pages == MeasurePages {
			p.Problem = fmt.Sprintf("the list has more than %d pages; a sync reads all of them", MeasurePages)
			break
		}
		page, _, err := gate.Fetch(ctx, func(ctx context.Context) (connector.FetchedPage, error) { return connector.FetchPage(ctx, source, f) })
		p.Warnings = append(p.Warnings, page.Warnings...)
		f.Checkpoint = page.Checkpoint
		switch {
		case err != nil:
			p.Problem = connector.Hide(unfetched(err), a.values)
		case f.Checkpoint == nil:
			p.Complete = true
		case page.NotBefore.After(d.Now()):
			p.Problem = unfetched(&connector.ThrottledError{Until: page.NotBefore})
		}
	}
	p.Records, p.Values = tally.Records, tally.Values
	value, problem := tally.Result()
	if p.Value = value; p.Problem == "" {
		p.Problem = problem
	}
	return p
}

// accessed is an integration with what it is fetched with.
type accessed struct {
	integration.Stored

	conn    connector.Connector
	secrets integration.Secrets
	values  map[string]string // credentials
	base    string            // through which it is fetched, see connector.Fetch
}

// accessed reads an integration that can be used, and gets access to its provider.
func (d Deps) accessed(ctx context.Context, provider string) (a accessed, err error) {
	if a.Stored, err = d.load(ctx, provider); err != nil {
		return a, err
	}
	c := web.Tenant(ctx)
	secrets, version, err := integration.LoadSecrets(ctx, c, d.Vault, provider)
	if err != nil {
		return a, err
	}
	if !secrets.Of(a.Integration) {
		return a, fault.New(fault.Conflict, "the integration was deleted and configured again meanwhile; try again")
	}
	a.secrets = secrets
	if a.conn, err = d.Connectors.Of(ctx, c, a.Integration); err != nil {
		return a, err
	}
	a.values, a.base, err = d.access().Values(ctx, c, a.conn, a.Integration, a.secrets, version)
	return a, err
}
