package intelligence

import (
	"bytes"
	"context"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/negotiation"

	"orgops/shared/base/fault"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type briefInput struct {
	web.IfNoneMatch
	Accept string    `header:"Accept" hidden:"true"`
	Since  time.Time `query:"since" doc:"Start of the period (RFC 3339); default: 24 hours ago" example:"2026-01-01T00:00:00Z"`
}

// briefOutput holds a brief in the format that the caller accepts.
type briefOutput struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	ContentType  string `header:"Content-Type"`
	Body         []byte
}

// The formats of a brief, the default first.
const (
	asJSON     = "application/json"
	asMarkdown = "text/markdown"
)

// exampleMarkdown is what getBrief answers as Markdown on a quiet day.
const exampleMarkdown = `# Nothing needs you today

## What changed

- github: configured and certified. [Show](</companies/01a20244-39ea-7ddd-8590-180f2855ca42/integrations/github>)
`

// briefOperation documents the answer in both formats.
func briefOperation(api huma.API, op huma.Operation) huma.Operation {
	brief := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[assessment.Brief](), true, "")
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		asJSON: {Schema: brief}, asMarkdown: {Schema: &huma.Schema{Type: huma.TypeString}, Example: exampleMarkdown},
	}}}
	return op
}

func (d Deps) getBrief(ctx context.Context, in *briefInput) (*briefOutput, error) {
	facts, etag, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	since := in.Since
	if since.IsZero() {
		since = facts.AsOf.Add(-assessment.DefaultBriefSpan)
	}
	if since.After(facts.AsOf) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "#/query/since", Detail: "must not be in the future"}})
	}
	if oldest := facts.AsOf.Add(-timeline.Kept); since.Before(oldest) {
		since = oldest // older entries have expired
	}
	contentType, write := asJSON, asJSONText
	if negotiation.SelectQValueFast(in.Accept, []string{asJSON, asMarkdown}) == asMarkdown {
		contentType = asMarkdown + "; charset=utf-8"
		write = func(b assessment.Brief) ([]byte, error) { return []byte(b.Markdown()), nil } //nolint:unparam // as JSON may fail
		etag = web.ETag(facts.Tag + ".md")
	}
	answer, err := web.Respond(in.IfNoneMatch, etag, func() ([]byte, error) {
		entries, err := assessment.Entries(ctx, web.Tenant(ctx), facts.Context, since)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		return write(assessment.BriefOf(facts.Context, facts.AsOf, since, entries, web.CompanyPath(ctx)))
	})
	if err != nil {
		return nil, err
	}
	out := &briefOutput{Status: answer.Status, ETag: answer.ETag, CacheControl: answer.CacheControl}
	if answer.Body != nil {
		out.ContentType, out.Body = contentType, *answer.Body
	}
	return out, nil
}

func asJSONText(b assessment.Brief) ([]byte, error) {
	var text bytes.Buffer
	err := huma.DefaultJSONFormat.Marshal(&text, b)
	return text.Bytes(), err
}
