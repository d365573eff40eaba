// Package inbound is the route group that providers post to. A provider holds no token: its signature is its proof.
package inbound

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/intake"
	"orgops/shared/integration"
	"orgops/shared/metric"
	"orgops/shared/policy"
	"orgops/shared/store"
	"orgops/shared/web"
)

// Deps is what the group works with.
type Deps struct {
	Company    func(id string) store.Company // binds the store to the company that the path names
	Connectors connector.Registry
	Vault      integration.Vault
	Engine     policy.Engine
	Metrics    *metric.Recorder // nil: nothing is measured
	Now        func() time.Time
}

// Register mounts the group.
func Register(api huma.API, d Deps) {
	op := web.Public(huma.Operation{
		OperationID: "receive-webhook", Method: http.MethodPost, Path: "/inbound/{id}/{provider}",
		Summary: "Receive a provider's webhook",
		Description: "Authenticated by its signature alone: Standard Webhooks for webhook and webhook-{name}, X-Hub-Signature-256 for github. " +
			"What it asks for gets a verdict each; what is permitted is committed in one transaction before the answer. A repeat within 7 days " +
			"is answered 200 and does nothing. Sandboxed, nothing but the verdicts is kept.",
		DefaultStatus: http.StatusAccepted, Tags: []string{"inbound"},
		Responses: map[string]*huma.Response{
			"200": {Description: "Received before: nothing was done"},
			"401": {Description: "The signature was not accepted"},
		},
	})
	// What GitHub sends where nobody chose JSON.
	form := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"payload"}, Description: "The same, as a form",
		Properties: map[string]*huma.Schema{"payload": {Type: huma.TypeString, Description: "The payload as JSON text"}},
	}
	op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/x-www-form-urlencoded": {Schema: form}}}
	payload := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "The provider's own payload"}
	web.Register(api, web.DescribeBody(op, payload), d.receiveWebhook)
}

type input struct {
	Company  string `path:"id" maxLength:"64" doc:"the company"`
	Provider string `path:"provider" maxLength:"64" doc:"webhook, webhook-{name} or github" example:"github"`
	RawBody  []byte `contentType:"application/json"`
}

// Result is what became of one action.
type Result struct {
	Action     string         `json:"action" example:"memory.upsert"`
	Verdict    policy.Verdict `json:"verdict" enum:"permitted,denied,needs-approval"`
	DecisionID string         `json:"decisionId"`
	Outcome    intake.Outcome `json:"outcome" enum:"created,updated,unchanged,refused" doc:"what it came to, or in the sandbox would have"`
	Subject    string         `json:"subject" doc:"id of what it was about"`
}

// Receipt is the answer to a delivery.
type Receipt struct {
	Duplicate bool     `json:"duplicate,omitempty" doc:"received before: nothing was done"`
	Sandboxed bool     `json:"sandboxed,omitempty" doc:"the connector is not certified: nothing but the verdicts was kept"`
	Results   []Result `json:"results" nullable:"false" doc:"one for each action that the delivery maps to"`
}

type output struct {
	Status int
	Body   Receipt
}

func (d Deps) receiveWebhook(ctx context.Context, in *input) (*output, error) {
	a, err := answer{}, error(errUnverified)
	if id.Valid(in.Company) && id.Valid(in.Provider) {
		a, err = d.receive(ctx, delivery{
			company: d.Company(in.Company), provider: in.Provider, header: web.RequestHeaders(ctx), body: in.RawBody,
		})
	}
	d.measure(a, err)
	if err != nil {
		return nil, err
	}
	out := &output{Status: http.StatusAccepted, Body: Receipt{Duplicate: a.duplicate, Sandboxed: a.sandboxed, Results: []Result{}}}
	if a.duplicate {
		out.Status = http.StatusOK
	}
	for _, p := range a.planned {
		out.Body.Results = append(out.Body.Results, Result{
			Action: p.Decision.Action, Verdict: p.Decision.Verdict, DecisionID: p.Decision.ID, Outcome: p.Outcome, Subject: p.Decision.Resource.ID,
		})
	}
	return out, nil
}

// measure leaves out what failed on this side: an answer of 5xx, or none.
func (d Deps) measure(a answer, err error) {
	switch kind := fault.KindOf(err); {
	case err == nil && a.duplicate:
		d.Metrics.Count(metric.InboundRepeated, 1)
	case err == nil:
		d.Metrics.Count(metric.InboundAccepted, 1)
	case kind != fault.Internal && kind != fault.Unavailable:
		d.Metrics.Count(metric.InboundRefused, 1)
	}
}
