// Package console serves the founder's console: a page with one script and one style sheet, which are embedded. The page
// calls the public API alone and holds the token in memory, so its files are the same for every caller and need no token.
//
// The folder web holds the source. The folder dist holds what is served; go generate bundles it.
package console

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/run/boot"
	"orgops/shared/web"
)

//go:generate go test . -run ^TestBundle$ -update

// Path locates the page.
const Path = "/console/"

// index is the name of the page's file. Its address works without the slash at the end of Path, which a gateway may drop.
const index = "index.html"

// Mount registers the group. It needs none of the service's parts.
func Mount(api huma.API, _ *boot.Services) { Register(api, Embedded()) }

// Register adds the operations that serve the files. They are pages and not part of the API's document.
func Register(api huma.API, files Files) {
	web.Register(api, operation("get-console", Path), func(_ context.Context, in *Request) (*huma.StreamResponse, error) {
		return files.answer(in, index)
	})
	web.Register(api, operation("get-console-file", Path+"{file}"), func(_ context.Context, in *fileRequest) (*huma.StreamResponse, error) {
		return files.answer(&in.Request, in.File)
	})
	web.Register(api, operation("find-console", "/console"), find)
}

func operation(id, path string) huma.Operation {
	return web.AuditedWrites(web.Public(huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Hidden: true}))
}

// Request holds the headers that decide the form of the answer. It is exported because huma sets no unexported part of
// another struct.
type Request struct {
	web.IfNoneMatch
	AcceptEncoding string `header:"Accept-Encoding"`
}

type fileRequest struct {
	Request
	File string `path:"file" maxLength:"64"`
}

// redirect leads to the page.
type redirect struct {
	Status   int
	Location string `header:"Location"`
}

func find(ctx context.Context, _ *struct{}) (*redirect, error) {
	return &redirect{Status: http.StatusFound, Location: web.BasePath(ctx) + Path + index}, nil
}

// answer answers with a file, or with 304 if the caller holds it.
func (f Files) answer(in *Request, name string) (*huma.StreamResponse, error) {
	file, ok := f[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "the console has no such file")
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		file.describe(ctx)
		if in.Matches(file.etag) {
			ctx.SetStatus(http.StatusNotModified)
			return
		}
		body := file.plain
		if accepts(in.AcceptEncoding, "gzip") {
			body = file.gzipped()
			ctx.SetHeader("Content-Encoding", "gzip")
		}
		ctx.SetStatus(http.StatusOK)
		ctx.BodyWriter().Write(body) //nolint:errcheck // fails only if the client has gone
	}}, nil
}
