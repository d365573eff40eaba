// Package memory is the route group of what a company's connectors brought in: syncs, memories and goals.
package memory

import (
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/connector"
	"orgops/shared/user"
	"orgops/shared/web"
)

// Deps is what the group works with.
type Deps struct {
	Connectors connector.Registry
	Now        func() time.Time
}

// Register mounts the group.
func Register(api huma.API, deps Deps) {
	web.Register(api, operation(http.MethodPost, "/memory/sync/{provider}", "sync-memory", "Trigger a sync",
		"Asks for a run that fetches the provider. Sandboxed, the run fetches and validates and shows a preview; certified, it "+
			"commits what changed. A provider has one run at a time.", http.StatusAccepted, user.ScopeMemoryWrite), deps.syncMemory)
	web.Register(api, operation(http.MethodGet, "/memory/syncs", "list-syncs", "List sync runs",
		"Newest first.", http.StatusOK, user.ScopeMemoryRead), listSyncs)
	web.Register(api, operation(http.MethodGet, "/memory/syncs/{run}", "get-sync", "Get a sync run",
		"With its progress while it runs.", http.StatusOK, user.ScopeMemoryRead), getSync)
	web.Register(api, operation(http.MethodPost, "/memory/syncs/{run}/cancel", "cancel-sync", "Cancel a sync run",
		"Takes effect at the run's next page. What it has committed stays.", http.StatusOK, user.ScopeMemoryWrite), deps.cancelSync)
	web.Register(api, operation(http.MethodGet, "/memory", "list-memories", "List memories",
		"In the order of their ids, which follow from the provider's ids.", http.StatusOK, user.ScopeMemoryRead), listMemories)
	web.Register(api, operation(http.MethodGet, "/memory/{mid}", "get-memory", "Get a memory",
		"By the id that a listing, a receipt or an event gave.", http.StatusOK, user.ScopeMemoryRead), getMemory)
	web.Register(api, operation(http.MethodGet, "/goals", "list-goals", "List goals",
		"In the order of their ids, which follow from the provider's ids.", http.StatusOK, user.ScopeMemoryRead), listGoals)
	web.Register(api, operation(http.MethodGet, "/goals/{gid}", "get-goal", "Get a goal",
		"With its alignment: progress against the time to its due date.", http.StatusOK, user.ScopeMemoryRead), getGoal)
}

func operation(method, path, id, summary, description string, status int, scope string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{id}" + path, Summary: summary, Description: description,
		DefaultStatus: status, Tags: []string{"memory"}, Security: web.Needs(scope),
	}
}
