// Package inbound receives the webhooks of providers. A provider holds no token and authenticates by its signature.
package inbound

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/base/metric"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Deps holds what the group works with.
type Deps struct {
	Company    func(id string) store.Company // binds the store to the company that the path names
	Connectors connector.Registry
	Vault      integration.Vault
	Engine     policy.Engine
	Metrics    *metric.Recorder // nil: no metrics are recorded
	Now        func() time.Time
	Bases      []string // the service's own addresses, without a slash at the end; some providers sign the address
	// Presume plans the items of an integration that has made only new ones lately without a look at the store. It suits a store
	// to which a refused commit costs little.
	Presume bool
	// Shared reports that other processes receive the companies' webhooks too, so that the limit must hold across all of them.
	Shared bool

	reader   *integration.Reader // set by Register, like the next five
	large    chan struct{}       // is held while a large body is decoded and mapped, one at a time
	mappings *mapping.Cache
	refusals *counter
	streaks  *streaks
	flows    *flows
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Company: s.Company, Connectors: s.Connectors, Vault: s.Vault, Engine: s.Engine, Metrics: s.Metrics, Now: s.Now, Bases: s.Bases(), Presume: !s.Separate, Shared: !s.HearsChanges})
}

// challenge names the scheme of a 401 (RFC 9110 §11.6.1 requires one). It is the same for each provider, so that a stranger
// does not learn which one exists.
const challenge = "Webhook-Signature"

// Register mounts the group.
func Register(api huma.API, d Deps) {
	d.reader, d.mappings, d.refusals = new(integration.Reader), new(mapping.Cache), &counter{waiting: map[countKey]*counting{}}
	d.large = make(chan struct{}, 1)
	d.streaks, d.flows = &streaks{of: map[integrationKey]*streak{}}, &flows{shared: d.Shared, of: map[string]*flow{}}
	op := web.Unaudited(web.Public(huma.Operation{
		OperationID: "receive-webhook", Method: http.MethodPost, Path: "/inbound/{companyId}/{provider}",
		Summary: "Receive a provider's webhook",
		Description: "Authenticated by the signature alone, in the headers whose descriptions begin with the provider's kind. " +
			"Every action gets a verdict, and the permitted actions are committed in one transaction before the answer. A repeat within 7 days " +
			"of an arrival that took effect is answered with 200 and has none; if the provider signs no id, as github, the same body is a repeat. What took no effect, " +
			"because of the mapping, the policies or the sandbox, is decided again when the provider sends it again. The answer says why an arrival takes no effect. A state " +
			"that is older than the stored one changes nothing. In the sandbox only the verdicts are stored. A company receives at most 12,000 signed webhooks a minute, on AWS more when it is always busy; further ones get 429 with Retry-After and have no effect.",
		DefaultStatus: http.StatusAccepted, Tags: []string{"inbound"},
		Responses: map[string]*huma.Response{
			"200": {Description: "Received before; this repeat had no effect. Or the provider only tries the address, and challenge repeats its text"},
			"204": {Description: "The provider only tries the address"},
			"401": {Description: "The signature was not accepted", Headers: map[string]*huma.Header{"WWW-Authenticate": {
				Description: "How to authenticate: by the signature that the provider sends", Schema: &huma.Schema{Type: huma.TypeString},
				Example: challenge,
			}}},
			"403": {Description: "The company is suspended; its operator resumes it"},
			"409": {Description: "The integration is disabled; enable it to receive its webhooks"},
		},
	}), "the receipt and the stored decisions say what became of each arrival and action")
	op = web.Never(web.Challenge(op, challenge), http.StatusNotFound) // what does not exist is not told from a bad signature
	// GitHub sends a form unless the webhook's content type is set to JSON. The document does not offer it to other senders.
	op = web.Accept(op, "application/x-www-form-urlencoded", "text/plain")
	op = web.Stream(web.BodyLimit(web.TakesCodings(web.Lenient(op)), d.bodyLimit), d.stream)
	op.Parameters = arrivalHeaders(d.Connectors)
	op = web.OnUnread(op, d.unread)
	web.Register(api, web.DescribeBody(op, web.Body{
		Schema: &huma.Schema{Ref: web.ComponentRef("InboundArrival")},
		Components: map[string]*huma.Schema{"InboundArrival": {
			Type: huma.TypeObject, AdditionalProperties: true,
			Description: "For webhook, an action with its data; for another kind of provider, that provider's payload.",
			Properties: map[string]*huma.Schema{
				"type": {Type: huma.TypeString, Description: "The action: memory.upsert, goal.update or timeline.note", Examples: []any{"memory.upsert"}},
				"data": {Description: "The action's data: one object, or a list of at most 30"},
			},
		}},
		Examples: []web.Example{{Name: "webhook", Summary: "provider webhook", Value: map[string]any{
			"type": "memory.upsert", "data": map[string]any{"externalId": "42", "kind": "ticket", "title": "Printer on fire"},
		}}},
	}), d.receiveWebhook)
}

// arrivalHeaders documents the headers of each kind of connector. Several kinds may have a header, whose name ignores case.
func arrivalHeaders(all connector.Registry) []*huma.Param {
	var params []*huma.Param
	known := map[string]*huma.Param{}
	for _, kind := range all.Kinds() {
		c, _ := all.Lookup(kind)
		conn, ok := c.(connector.Inbound)
		if !ok {
			continue
		}
		for _, h := range conn.Headers() {
			about := kind + ": " + h.Description
			if p := known[strings.ToLower(h.Name)]; p != nil {
				p.Description += "; " + about
				continue
			}
			p := &huma.Param{Name: h.Name, In: "header", Description: about, Example: h.Example, Schema: &huma.Schema{Type: huma.TypeString}}
			known[strings.ToLower(h.Name)] = p
			params = append(params, p)
		}
	}
	return params
}

type input struct {
	Company  string `path:"companyId" maxLength:"64" doc:"the company"`
	Provider string `path:"provider" maxLength:"64" doc:"the name of an integration that receives webhooks, a kind such as github, or a kind and a name such as github-{name}" example:"github"`
	RawBody  []byte `contentType:"application/json"`
}

// Result describes the outcome of one action.
type Result struct {
	Action     string         `json:"action" doc:"what the arrival asks for" example:"memory.upsert"`
	Verdict    policy.Verdict `json:"verdict" doc:"what the policy engine decided" enum:"permitted,denied,needs-approval"`
	DecisionID string         `json:"decisionId" doc:"the id of the policy engine's decision" format:"uuid"`
	Outcome    intake.Outcome `json:"outcome" enum:"created,updated,unchanged,refused,pending" doc:"the action's outcome; in the sandbox, the outcome it would have had; pending: it waits for an approval"`
	Subject    string         `json:"subject" doc:"the id of the item that the action is about"`
	ApprovalID string         `json:"approvalId,omitempty" doc:"the approval that the action waits for; absent in the sandbox" format:"uuid"`
}

// Receipt answers an arrival.
type Receipt struct {
	Duplicate bool     `json:"duplicate,omitempty" doc:"received before; this repeat had no effect"`
	Sandboxed bool     `json:"sandboxed,omitempty" doc:"the connector is not certified; only the verdicts were stored"`
	Effect    string   `json:"effect,omitempty" enum:"none" doc:"none: the arrival is accepted and changed nothing; absent if it changed something or an approval was asked for"`
	Reason    string   `json:"reason,omitempty" doc:"why the arrival took no effect" example:"no rule of the mapping matches"`
	Challenge string   `json:"challenge,omitempty" doc:"the text that the provider sent to try the address, which the answer repeats"`
	Results   []Result `json:"results" nullable:"false" doc:"one per action of the arrival"`
}

type output struct {
	Status int
	Body   *Receipt
}

// greet answers a provider that tries the address.
func greet(text string) *output {
	if text == "" {
		return &output{Status: http.StatusNoContent}
	}
	return &output{Status: http.StatusOK, Body: &Receipt{Challenge: text, Results: []Result{}}}
}

// urls returns the addresses by which the provider may know that of the current request.
func (d *Deps) urls(ctx context.Context) []string {
	urls := make([]string, len(d.Bases))
	for n, base := range d.Bases {
		urls[n] = base + web.RequestTarget(ctx)
	}
	return urls
}

func (d *Deps) receiveWebhook(ctx context.Context, in *input) (*output, error) {
	a, err := answer{}, error(errUnverified)
	header := web.RequestHeaders(ctx)
	kept, _ := ctx.Value(streamedKey{}).(*streamed)
	unknown := checkCoding(header)
	switch {
	case unknown != nil:
		err = unknown
	case id.Valid(in.Company) && id.Valid(in.Provider):
		a, err = d.receive(ctx, incoming{
			company: d.Company(in.Company), provider: in.Provider, urls: d.urls(ctx), header: header, body: in.RawBody, streamed: kept,
		})
	}
	d.measure(a, err)
	if err != nil {
		return nil, err
	}
	if a.greeting != nil {
		return greet(*a.greeting), nil
	}
	out := &output{Status: http.StatusAccepted, Body: &Receipt{Duplicate: a.duplicate, Sandboxed: a.sandboxed, Results: []Result{}}}
	if a.none != "" {
		out.Body.Effect, out.Body.Reason = "none", a.none
	}
	if a.duplicate {
		out.Status = http.StatusOK
	}
	for _, p := range a.planned {
		out.Body.Results = append(out.Body.Results, Result{
			Action: p.Decision.Action, Verdict: p.Decision.Verdict, DecisionID: p.Decision.ID, Outcome: p.Outcome, Subject: p.Decision.Resource.ID,
			ApprovalID: p.ApprovalID,
		})
	}
	return out, nil
}

// measure counts an arrival's result. It does not count failures of this service, which give an answer of 5xx or no answer.
func (d *Deps) measure(a answer, err error) {
	switch kind := fault.KindOf(err); {
	case err == nil && a.duplicate:
		d.Metrics.Count(metric.InboundRepeated, 1)
	case err == nil:
		d.Metrics.Count(metric.InboundAccepted, 1)
	case kind != fault.Internal && kind != fault.Unavailable && kind != fault.QuotaExceeded:
		d.Metrics.Count(metric.InboundRefused, 1)
	}
}
