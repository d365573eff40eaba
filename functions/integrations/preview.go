package integrations

import (
	"context"
	"encoding/json"
	"net/http"

	"orgops/shared/base/fault"
	"orgops/shared/domain/inbox"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/trial"
	"orgops/shared/web"
)

// PreviewRequest holds an arrival to try, and the mapping to try it with.
type PreviewRequest struct {
	Headers map[string]string `json:"headers,omitempty" maxProperties:"100" doc:"the arrival's headers, such as X-GitHub-Event" example:"{\"X-GitHub-Event\":\"issues\"}"`
	Payload json.RawMessage   `json:"payload,omitempty" doc:"the arrival's body; either this or inboxId; with neither, only the tests of the mapping run"`
	InboxID string            `json:"inboxId,omitempty" maxLength:"64" doc:"an arrival of the inbox, whose headers and body are tried"`
	Mapping *MappingDocument  `json:"mapping,omitempty" doc:"the mapping to try; without it, the one that applies"`

	nulls []fault.FieldError // the members that are null, which the schema does not allow
}

// UnmarshalJSON notes the nulls, except those of the payload.
func (r *PreviewRequest) UnmarshalJSON(raw []byte) error {
	type plain PreviewRequest
	if err := json.Unmarshal(raw, (*plain)(r)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if r.Mapping != nil {
		r.nulls = append(r.nulls, fault.Below("/mapping", r.Mapping.nulls)...)
	}
	for _, name := range []string{"headers", "inboxId"} {
		if member, given := members[name]; given {
			r.nulls = append(r.nulls, nulls(member, fault.Pointer(name))...)
		}
	}
	return nil
}

// MappingPreview answers what a mapping makes of an arrival.
type MappingPreview struct {
	Source string `json:"source" enum:"default,company,request" doc:"which mapping was tried"`
	inbox.MappingResult
	Tests []MappingTestResult `json:"tests,omitempty" nullable:"false" doc:"what became of the mapping's tests"`
}

type previewInput struct {
	ProviderInput
	Body PreviewRequest
}

type previewOutput struct{ Body MappingPreview }

// previewMapping maps an arrival and asks the policy engine, as inbound does. It writes nothing.
func (d Deps) previewMapping(ctx context.Context, in *previewInput) (*previewOutput, error) {
	if err := fault.Refuse(in.Body.nulls); err != nil {
		return nil, err
	}
	r, err := d.receiver(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	out := &previewOutput{}
	out.Body.Actions = []inbox.MappingAction{}
	m, tests, err := d.tried(ctx, r, in.Body.Mapping, &out.Body)
	if err != nil {
		return nil, err
	}
	if len(tests) == 0 || len(in.Body.Payload) > 0 || in.Body.InboxID != "" {
		header, body, err := d.delivered(ctx, in)
		if err != nil {
			return nil, err
		}
		if out.Body.MappingResult, err = d.try(ctx, r, m, header, body); err != nil {
			return nil, err
		}
	}
	out.Body.Tests, err = r.run(ctx, m, tests)
	return out, err
}

// delivered returns the headers and the body of the arrival to try.
func (d Deps) delivered(ctx context.Context, in *previewInput) (http.Header, []byte, error) {
	given := len(in.Body.Payload) > 0
	switch {
	case given && in.Body.InboxID != "":
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/inboxId", Detail: "give either payload or inboxId"}})
	case given:
		return trial.Headers(in.Body.Headers), in.Body.Payload, nil
	case in.Body.InboxID == "":
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/payload", Detail: "is missing; give the body of an arrival, the inboxId of one that was received, or a mapping with tests"}})
	}
	kept, err := inbox.Load(ctx, web.Tenant(ctx), in.Provider, in.Body.InboxID)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/inboxId", Detail: "the inbox holds no such arrival; it keeps the latest 20 of 7 days"}})
	}
	if err != nil {
		return nil, nil, err
	}
	if kept.Truncated {
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/inboxId", Detail: "the body of this arrival was too long to be kept whole; give it as payload"}})
	}
	return trial.Headers(kept.Headers), []byte(kept.Body), nil
}

// tried returns the mapping to try with its tests, and notes its source in out.
func (d Deps) tried(ctx context.Context, r receiver, given *MappingDocument, out *MappingPreview) (*mapping.Mapping, []trial.MappingTest, error) {
	if given == nil {
		if out.Source = "default"; r.Mapping != nil {
			out.Source = "company"
		}
		m, err := d.mappings.Of(ctx, web.Tenant(ctx), r.Integration, r.conn)
		if err != nil {
			return nil, nil, err
		}
		tests, err := r.tests()
		return m, tests, err
	}
	out.Source = "request"
	raw, err := checked(*given)
	if err != nil {
		return nil, nil, fault.Within("/mapping", err)
	}
	m, err := mapping.Parse(raw)
	return m, given.Tests, err
}

// try shows what a mapping makes of an arrival. An arrival that inbound would refuse is a result, not an error.
func (d Deps) try(ctx context.Context, r receiver, m *mapping.Mapping, header http.Header, body []byte) (inbox.MappingResult, error) {
	mapped, err := r.tester().Read(ctx, m, header, body)
	if refused, ok := trial.Refused(err); ok {
		return refused, nil
	}
	if err != nil {
		return inbox.MappingResult{}, err
	}
	planner := intake.Planner{Company: web.Tenant(ctx), Integration: r.Integration, Engine: d.Engine, Now: d.Now().UTC(), DryRun: true}
	planned, err := planner.PlanAll(ctx, mapped.Actions)
	if err != nil {
		return inbox.MappingResult{}, err
	}
	result := mapped.Result(planned)
	for n, a := range mapped.Actions {
		if result.Actions[n].Fields, err = trial.Fields(a); err != nil {
			return inbox.MappingResult{}, err
		}
	}
	return result, nil
}
