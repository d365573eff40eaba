package docs

import (
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"orgops/local/command/relay"
	"orgops/local/process/guides"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/postgresql"
	"orgops/shared/web"
)

// GuidesPath locates the guides.
const GuidesPath = Path + "/guides/"

// guidePolicy lets a guide load nothing but its own style.
const guidePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guide is a page: its name below GuidesPath, its place in the repository, which its links are relative to, and its text.
type guide struct{ name, file, text string }

// allGuides returns every guide, the list of them first.
func allGuides() []guide {
	all := []guide{}
	add := func(name, file string) {
		text, err := fs.ReadFile(guides.Files, file)
		if err != nil {
			panic(fmt.Sprintf("docs: read a guide: %v", err)) // the guides are part of the program
		}
		all = append(all, guide{name, "local/process/guides/" + file, string(text)})
	}
	add("", "README.md")
	add("connect", "connect.md")
	add("receive", "receive.md")
	add("policy", "policy.md")
	add("agent", "agent.md")
	add("told", "told.md")
	add("providers", "providers.md")
	add("events.ts", "typescript/events.ts")
	return append(all,
		guide{"listen", "local/command/relay/README.md", relay.Guide()},
		guide{"mapping", "shared/provider/mapping/README.md", mapping.Guide()},
		guide{"postgresql", "shared/provider/postgresql/README.md", postgresql.Guide()},
		guide{"connector", "shared/provider/connector/README.md", connector.Guide()},
	)
}

// registerGuides serves the guides.
func registerGuides(s *web.Server) {
	all := allGuides()
	places := map[string]string{}
	for _, g := range all {
		places[g.file] = GuidesPath + g.name
	}
	for _, g := range all {
		text := g.text
		if !strings.HasSuffix(g.file, ".md") {
			text = "```\n" + text + "```\n"
		}
		page := markdown(text, func(link string) string {
			if strings.HasPrefix(link, "https://") {
				return link
			}
			return places[path.Join(path.Dir(g.file), link)] // "": a file that is not served
		})
		title, _, _ := strings.Cut(strings.TrimPrefix(g.text, "# "), "\n")
		s.Router().Get(GuidesPath+g.name, page200(title, page))
	}
}

// style makes a guide readable in a light and a dark theme.
const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}" +
	"pre{overflow:auto;padding:1rem;border:1px solid #8886;border-radius:6px}code{font-size:.9em}table{border-collapse:collapse}" +
	"td,th{border:1px solid #8886;padding:.3rem .6rem;text-align:left;vertical-align:top}"

func page200(title, body string) http.HandlerFunc {
	page := []byte(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
		"<title>" + html.EscapeString(title) + "</title><style>" + style + `</style><nav><a href="` + GuidesPath + `">Guides</a> · <a href="` + Path +
		`">API</a></nav><main>` + body + "</main></html>")
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", guidePolicy)
		w.Header().Set("Cache-Control", "no-cache")
		w.Write(page)
	}
}
