package main

import (
	"fmt"
	"net/http"
	"path"

	"orgops/shared/domain/executive"
)

// listedActions is how many actions an executive has asked for before they are listed.
const listedActions = 60

// executive returns the path of a certified executive with a name.
func (w *world) executive(name string) (path string) {
	w.call(ask{method: http.MethodPost, path: "/executives", body: w.draft(name, "Keeps order")})
	path = "/executives/" + executive.IDOf(name)
	w.call(ask{method: http.MethodPost, path: path + "/certification"})
	return path
}

// draft returns the request for an executive that the founder owns.
func (w *world) draft(name, role string) string {
	return fmt.Sprintf(`{"name":%q,"role":%q,"owner":%q,"actions":["timeline.note","memory.sync"],"quotaPerDay":1000}`, name, role, w.founder)
}

// note returns the request for a note, with a key.
func note(path, key string) ask {
	return ask{
		method: http.MethodPost, path: path + "/actions", header: http.Header{"Idempotency-Key": {key}},
		body: `{"action":"timeline.note","input":{"title":"The feed has been quiet for a week","subject":"feed"}}`,
	}
}

// listed returns the path of the actions of an executive that has asked for more than a page of them.
func (w *world) listed() string {
	path, server := w.executive("Scribe"), w.server()
	for n := range listedActions {
		w.do(server, note(path, fmt.Sprint(n)), nil)
	}
	return path + "/actions"
}

// message returns a message to the company's MCP endpoint.
func message(body string) ask {
	return ask{method: http.MethodPost, path: "/mcp", body: body, header: http.Header{"Accept": {"application/json, text/event-stream"}}}
}

func executiveRequests() map[string]func(*world) ask {
	of := func(method, rest string) func(*world) ask {
		return func(w *world) ask { return ask{method: method, path: w.executive("Chief") + rest} }
	}
	return map[string]func(*world) ask{
		"get-executive": of(http.MethodGet, ""), "delete-executive": of(http.MethodDelete, ""),
		"certify-executive": of(http.MethodPost, "/certification"), "get-executive-certification": of(http.MethodGet, "/certification"),
		"configure-executive": func(w *world) ask {
			return ask{method: http.MethodPost, path: "/executives", body: w.draft("Other", "New"), status: http.StatusCreated}
		},
		"configure-executive, again": func(w *world) ask {
			return ask{method: http.MethodPost, path: "/executives", body: w.draft("Other", "Changed"), status: http.StatusOK}
		},
		"call-mcp": func(*world) ask { return message(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`) },
		"call-mcp, the brief": func(*world) ask {
			return message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get-brief"}}`)
		},
		"call-mcp, an action": func(w *world) ask {
			return message(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"act-as-executive","arguments":{"executiveId":%q,"action":"timeline.note","input":{"title":"By a tool"}}}}`, path.Base(w.executive("Chief"))))
		},
		"act-as-executive": func(w *world) ask { return note(w.executive("Chief"), "certified") },
		"act-as-executive, in the sandbox": func(w *world) ask {
			w.call(ask{method: http.MethodPost, path: "/executives", body: w.draft("Untried", "New")})
			return note("/executives/"+executive.IDOf("Untried"), "sandbox")
		},
		"act-as-executive, pending": func(w *world) ask {
			w.govern(`@approval("agree") forbid (principal is Executive, action, resource is Note) when { resource.subject == "office" } unless { context.approval == context.digest };`)
			pending := note(w.executive("Chief"), "pending")
			pending.body = `{"action":"timeline.note","input":{"title":"The office moves","subject":"office"}}`
			return pending
		},
		"list-executive-actions": func(w *world) ask { return ask{method: http.MethodGet, path: w.listed()} },
		"get-executive-action": func(w *world) ask {
			var done executive.ActionRecord
			path := w.executive("Chief")
			w.do(w.server(), note(path, "fetched"), &done)
			return ask{method: http.MethodGet, path: path + "/actions/" + done.ID}
		},
	}
}
