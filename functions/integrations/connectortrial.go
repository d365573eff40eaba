package integrations

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/egress"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/rehearsal"
	"orgops/shared/web"
)

// Limits of a trial of a manifest. What it shows of an answer and of a record is cut off.
const (
	TrialPages     = 3
	TrialRecords   = 20
	trialTime      = 20 * time.Second
	maxTrialAnswer = 4 << 10
	maxTrialRecord = 2 << 10
	maxTrialSkips  = 20
	maxTrialShown  = 50
	maxTrialBytes  = 1 << 20 // of all actions that are shown
)

// ConnectorTrialRequest says which manifest to try, and with what.
type ConnectorTrialRequest struct {
	Manifest      json.RawMessage   `json:"manifest" doc:"the manifest to try, as put-connector takes it"`
	Configuration json.RawMessage   `json:"configuration,omitempty" doc:"values of its variables, as the configuration of an integration has them"`
	Credentials   map[string]string `json:"credentials,omitempty" maxProperties:"5" doc:"the credentials, by name; they go to the host of the manifest's base alone, and are not stored"`
	Pages         int               `json:"pages,omitempty" minimum:"1" maximum:"3" format:"int32" doc:"pages to fetch at most; absent: 1"`
}

// ConnectorTrial answers what a manifest's server says, and what it becomes.
type ConnectorTrial struct {
	Requests []TrialExchange `json:"requests" nullable:"false" doc:"the requests in order, with their answers"`
	Records  []string        `json:"records" nullable:"false" doc:"the first 20 records, as the server sends them; a long one is cut off" example:"[\"{\\\"id\\\":1}\"]"`
	Actions  []TrialAction   `json:"actions" nullable:"false" doc:"what the records become: the first 50 actions"`
	Memories int             `json:"memories" format:"int32" doc:"how many memories the pages bring"`
	Goals    int             `json:"goals" format:"int32" doc:"how many goals the pages bring"`
	Notes    int             `json:"notes" format:"int32" doc:"how many notes the pages bring"`
	Skipped  []TrialSkip     `json:"skipped" nullable:"false" doc:"the first 20 records that become nothing, although they should"`
	Warnings []string        `json:"warnings" nullable:"false" doc:"what to look at, although the pages were read"`
	More     bool            `json:"more" doc:"whether more pages follow"`
	Problem  string          `json:"problem,omitempty" doc:"why the last page could not be fetched, and what to do; absent: every page was read"`

	shown int // bytes of the actions
}

// TrialExchange is a request of a trial, with its answer and without credentials.
type TrialExchange struct {
	Method string `json:"method" doc:"the method" example:"GET"`
	URL    string `json:"url" doc:"the address; … stands for a credential" example:"https://api.example.com/v1/tickets"`
	Body   string `json:"body,omitempty" doc:"the body that was sent"`
	Status int    `json:"status" doc:"the status of the answer" example:"200" format:"int32"`
	Bytes  int    `json:"bytes" doc:"the length of the answer" example:"512" format:"int32"`
	Answer string `json:"answer" doc:"the answer; its first 4 KiB"`
}

// TrialAction is an action that a record asks for.
type TrialAction struct {
	Action integration.Port `json:"action" enum:"memory.upsert,goal.update,timeline.note" doc:"what the record asks for"`
	Data   json.RawMessage  `json:"data" doc:"the memory, the goal or the note"`
}

// TrialSkip names a record that becomes nothing, and says why.
type TrialSkip struct {
	Item   string `json:"item" doc:"the record" example:"object 2 of the page"`
	Reason string `json:"reason" doc:"why it becomes nothing" example:"title must be a string"`
}

type trialInput struct{ Body ConnectorTrialRequest }

type trialOutput struct{ Body ConnectorTrial }

func (d Deps) testConnector(ctx context.Context, in *trialInput) (*trialOutput, error) {
	m, err := rehearsal.Read(in.Body.Manifest, web.CheckBody)
	if err != nil {
		return nil, fault.Within("/manifest", err)
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	t := rehearsal.Trial{
		Manifest: m, Config: in.Body.Configuration, Credentials: in.Body.Credentials, Pages: max(1, in.Body.Pages), Client: d.Client, Check: web.CheckBody, Now: d.Now,
		Permit: d.permit(ctx, m),
	}
	if len(t.Config) == 0 {
		t.Config = json.RawMessage("{}")
	}
	pages, more, err := t.Run(ctx)
	if err != nil && len(pages) == 0 {
		return nil, err
	}
	out := ConnectorTrial{Requests: []TrialExchange{}, Records: []string{}, Actions: []TrialAction{}, Skipped: []TrialSkip{}, Warnings: []string{}, More: more}
	if err != nil {
		out.Problem = connector.Hide(unfetched(err), t.Credentials)
	}
	for _, page := range pages {
		out.add(page)
	}
	return &trialOutput{out}, nil
}

// permit returns how a page of a manifest is fetched under the company's policies: as that of an integration of its kind which is not
// certified yet.
func (d Deps) permit(ctx context.Context, m *manifest.Manifest) func(context.Context, rehearsal.Fetch) (connector.FetchedPage, error) {
	i := integration.Integration{Provider: m.Kind, Kind: m.Kind, Permissions: m.Ports(), Manifest: &integration.ManifestRef{}}
	gate := egress.Gate{Engine: d.Engine, Company: web.Tenant(ctx), Integration: i, Now: d.Now, DryRun: true, Certifying: true}
	return func(ctx context.Context, fetch rehearsal.Fetch) (connector.FetchedPage, error) {
		page, _, err := gate.Fetch(ctx, fetch)
		return page, err
	}
}

// unfetched says why a page could not be fetched.
func unfetched(err error) string {
	var throttled *connector.ThrottledError
	var f *fault.Error
	switch {
	case errors.As(err, &throttled):
		return "the provider asks to wait until " + throttled.Until.UTC().Format(time.RFC3339) + "; try again then"
	case errors.As(err, &f):
		return f.Detail
	}
	return "the provider could not be fetched; check the base"
}

// add shows a page.
func (t *ConnectorTrial) add(page rehearsal.Page) {
	for _, e := range page.Exchanges {
		t.Requests = append(t.Requests, TrialExchange{
			Method: e.Method, URL: e.URL, Body: e.Body, Status: e.Status, Bytes: len(e.Answer), Answer: text.Truncate(e.Answer, maxTrialAnswer),
		})
	}
	for _, record := range page.Records[:min(len(page.Records), TrialRecords-len(t.Records))] {
		t.Records = append(t.Records, text.Truncate(record, maxTrialRecord))
	}
	for _, s := range page.Skipped[:min(len(page.Skipped), maxTrialSkips-len(t.Skipped))] {
		t.Skipped = append(t.Skipped, TrialSkip{s.Item, s.Reason})
	}
	t.Warnings = append(t.Warnings, page.Warnings...)
	for _, a := range page.Actions {
		t.bring(a)
	}
}

// bring counts an action, and shows it as far as there is room.
func (t *ConnectorTrial) bring(a rehearsal.Action) {
	switch a.Port {
	case integration.MemoryUpsert:
		t.Memories++
	case integration.GoalUpdate:
		t.Goals++
	case integration.TimelineNote:
		t.Notes++
	}
	if t.shown += len(a.Draft); len(t.Actions) < maxTrialShown && t.shown <= maxTrialBytes {
		data := json.RawMessage(a.Draft)
		if !json.Valid(data) { // a credential stood in it, such as the number 1
			data, _ = json.Marshal(a.Draft) // texts always encode
		}
		t.Actions = append(t.Actions, TrialAction{a.Port, data})
	}
}
