package httplist

import (
	"context"

	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
)

// Fetch implements connector.Source. The configuration becomes a manifest of one stream.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	return manifest.Compile(read(f.Config).manifest()).Fetch(ctx, c.client, c.now(), f)
}

// manifest returns the manifest that a configuration stands for.
func (config Config) manifest() manifest.Document {
	d := manifest.Document{
		Kind: Kind, Base: config.URL,
		Words: manifest.Words{
			List: "the list", URL: "url", Records: "itemsPath", ID: "idPath", UpdatedAt: "updatedAtPath", DueAt: "dueAtPath",
			Progress: "progressPath", Cursor: "cursorPath", Agent: "orgops-http",
		},
		Streams: []manifest.Stream{{
			Name: stream, Records: config.ItemsPath,
			Paging: manifest.Paging{Type: config.Paging, Pointer: config.CursorPath, Parameter: config.Parameter},
			Item: &manifest.Item{
				Target: config.Target, Kind: ItemKind, ID: config.IDPath, Title: config.TitlePath, Body: config.BodyPath, Link: config.LinkPath,
				UpdatedAt: config.UpdatedAtPath, Progress: config.ProgressPath, DueAt: config.DueAtPath,
			},
		}},
	}
	if config.Auth != "" {
		d.Auth = &manifest.Auth{Type: config.Auth, Name: config.Header}
	}
	if config.Paging == "" {
		d.Streams[0].Paging.Type = manifest.PagedByLink
	}
	return d
}
