// Package docs serves the OpenAPI document and interactive documentation. It embeds everything that the browser loads, so
// that the pages call no other host. Only the local run uses it; no Lambda links it.
package docs

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"orgops/functions/console"
	"orgops/shared/web"
)

// Path locates the interactive documentation.
const Path = "/api/docs"

// policy restricts the page to this server. Its scripts and styles are partly inline.
const policy = "default-src 'none'; connect-src 'self'; img-src 'self' data:; script-src 'self' 'unsafe-inline'; " +
	"style-src 'self' 'unsafe-inline'; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Register serves /openapi.json, /openapi.yaml, the pages under Path and the guides, and redirects / to the console. The caller registers
// every group first.
func Register(s *web.Server) {
	doc := s.Document()
	doc.Info.Description += "\n\nThe [guides](" + GuidesPath + ") explain step by step how to connect, receive, map, decide and let an agent in."
	registerGuides(s)
	s.Router().Get("/openapi.json", document("application/vnd.oai.openapi+json;version=3.1", doc.MarshalJSON))
	s.Router().Get("/openapi.yaml", document("application/vnd.oai.openapi;version=3.1", doc.YAML))
	pages := pages(doc.Info.Title)
	s.Router().Get(Path, pages)
	s.Router().Get(Path+"/*", pages)
	home := http.RedirectHandler(console.Path, http.StatusFound).ServeHTTP
	s.Router().Get("/", home)
	s.Router().Head("/", home)
}

// document serves the OpenAPI document in one form. The first request makes it, because most runs never show it, and both forms
// take 1.7 MiB. It panics if the operations cannot be documented, which is a programming error.
func document(contentType string, form func() ([]byte, error)) http.HandlerFunc {
	content := sync.OnceValue(func() []byte {
		b, err := form()
		if err != nil {
			panic(fmt.Sprintf("docs: make the OpenAPI document: %v", err))
		}
		return b
	})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write(content())
	}
}

func pages(title string) http.HandlerFunc {
	ui := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: title, SwaggerJSON: "/openapi.json", BasePath: Path,
		SettingsUI: map[string]string{
			"persistAuthorization":   "false", // the console has the same origin, so a token in the browser's storage would reach it
			"tryItOutEnabled":        "true",
			"displayRequestDuration": "true",
			"docExpansion":           `"list"`,
			"operationsSorter":       `"alpha"`,
		},
	})
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		ui.ServeHTTP(w, r)
	}
}
