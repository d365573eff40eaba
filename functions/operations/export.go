package operations

import (
	"context"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
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

func (d Deps) exportCompany(ctx context.Context, in *exportInput) (*exportOutput, error) {
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
	if next == "" {
		if err := d.tellExported(ctx); err != nil {
			return nil, err
		}
	}
	page := web.NewPage[struct{}](ctx, nil, next)
	return &exportOutput{ContentType: jsonLines, Link: page.Link, Body: lines}, nil
}

// maxTold limits the founders who are told of an export.
const maxTold = 40

// tellExported stores the notices that tell the founders of an export by a person, once a day. The exports of a client are its work.
func (d Deps) tellExported(ctx context.Context) error {
	c := web.Tenant(ctx)
	by, _, err := company.GetUser(ctx, c, web.CallerOf(ctx).Person())
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	firm, _, err := company.Get(ctx, c)
	if err != nil {
		return err
	}
	var ops []store.Op
	told := 0
	for item, err := range c.Items(ctx, store.Query{Prefix: user.Prefix}) {
		var to user.User
		if err == nil {
			err = item.Decode(&to)
		}
		if err != nil {
			return store.Fault(err, "")
		}
		if !to.Founds() || told >= maxTold {
			continue
		}
		more, err := notice.Exported(c.ID(), firm.Name, to, by, d.Now()).CreateOnce(ctx, c)
		if err != nil {
			return store.Fault(err, "")
		}
		ops, told = append(ops, more...), told+1
	}
	if len(ops) == 0 {
		return nil
	}
	if err := c.Commit(ctx, ops...); !errors.Is(err, store.ErrConflict) { // another request has told them
		return store.Fault(err, "")
	}
	return nil
}
