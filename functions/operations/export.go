package operations

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/export"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// jsonLines is the media type of an export: a JSON text a line.
const jsonLines = "application/jsonl"

type exportInput struct {
	Cursor string `query:"cursor" maxLength:"2048" doc:"from the Link header of the previous page"`
}

type exportOutput struct {
	ContentType string `header:"Content-Type"`
	Link        string `header:"Link" doc:"rel=\"next\" if there is a next page"`
	Body        []byte
}

// exportOperation documents the answer, which is a JSON text a line.
func exportOperation(op huma.Operation) huma.Operation {
	const example = `{"entity":"goal","key":"GOAL#01a20244-39ea-8ddd-8590-180f2855ca42","version":3,"at":"2026-01-01T00:00:00Z","body":{"title":"Launch"}}` + "\n"
	op.Responses = map[string]*huma.Response{"200": {
		Description: "OK",
		Content:     map[string]*huma.MediaType{jsonLines: {Schema: &huma.Schema{Type: huma.TypeString}, Example: example}},
	}}
	return op
}

func exportCompany(ctx context.Context, in *exportInput) (*exportOutput, error) {
	after, err := web.PageQuery{Cursor: in.Cursor}.After(ctx)
	if err != nil {
		return nil, err
	}
	if err := web.Reserve(ctx, export.MaxBytes+store.MaxBody); err != nil {
		return nil, err
	}
	lines, next, err := export.Page(ctx, web.Tenant(ctx), after)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	switch {
	case next == "": // the founders are told of it
		web.Record(ctx, export.Complete)
	case in.Cursor == "":
		web.Record(ctx, export.Resource)
	}
	page := web.NewPage[struct{}](ctx, nil, next)
	return &exportOutput{ContentType: jsonLines, Link: page.Link, Body: lines}, nil
}
