// Package memory serves what a company's connectors import: syncs, memories and goals.
package memory

import (
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/user"
	"orgops/shared/provider/connector"
	"orgops/shared/run/boot"
	"orgops/shared/web"
)

// Deps holds what the group works with.
type Deps struct {
	Connectors connector.Registry
	Now        func() time.Time
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{Connectors: s.Connectors, Now: s.Now})
}

// Register adds the group's operations to api.
func Register(api huma.API, deps Deps) {
	web.Register(api, web.AuditedRefusals(operation(http.MethodPost, "/memory/sync/{provider}", "sync-memory", "Trigger a sync",
		"Requests a run that fetches from the provider. In the sandbox the run fetches, validates and shows a preview; certified, it "+
			"commits what has changed. A full run also removes what the provider no longer has; if the provider's pages are numbered, a "+
			"deletion between two of them hides an item, so it removes only what the full run before has missed too. A provider has "+
			"one run at a time.", http.StatusAccepted, user.ScopeMemoryWrite),
		"the run tells who requested it"), deps.syncMemory)
	const explanation = "/goals/{goalId}/explanation"
	web.Register(api, personal(http.MethodPut, explanation, "explain-goal", "Explain a goal",
		"Says why the goal may be off its pace. Until the explanation ends, readiness counts the goal as aligned.",
		http.StatusOK, user.ScopeIntelligenceWrite), deps.explainGoal)
	web.Register(api, operation(http.MethodGet, explanation, "get-goal-explanation", "Get a goal's explanation",
		"Answers 404 if the goal has none, or if it has ended.", http.StatusOK, user.ScopeIntelligenceRead), deps.getExplanation)
	web.Register(api, personal(http.MethodDelete, explanation, "delete-goal-explanation", "Delete a goal's explanation",
		"The goal counts with its alignment again.", http.StatusNoContent, user.ScopeIntelligenceWrite), deps.deleteExplanation)
	web.Register(api, web.Bound(operation(http.MethodGet, "/memory/syncs", "list-syncs", "List sync runs",
		"Newest first.", http.StatusOK, user.ScopeMemoryRead)), listSyncs)
	web.Register(api, web.Bound(operation(http.MethodGet, "/memory/syncs/{runId}", "get-sync", "Get a sync run",
		"With its progress while it runs.", http.StatusOK, user.ScopeMemoryRead)), getSync)
	web.Register(api, web.Bound(operation(http.MethodPost, "/memory/syncs/{runId}/cancel", "cancel-sync", "Cancel a sync run",
		"Takes effect at the run's next page. Committed items stay.", http.StatusOK, user.ScopeMemoryWrite)), deps.cancelSync)
	web.Register(api, web.Bound(personal(http.MethodPost, "/memory/syncs/{runId}/confirm", "confirm-sync", "Confirm a removal",
		"A full run that would remove more than half of at least 20 items, or all items of a list, waits for this up to 3 days; then it "+
			"ends without removing anything. What it fetched stays in either case. Answers 409 if the run does not wait.",
		http.StatusAccepted, user.ScopeMemoryWrite)), deps.confirmSync)
	web.Register(api, web.AsTool(web.Bound(operation(http.MethodGet, "/memory", "list-memories", "List memories",
		"In the order of their ids, which derive from the provider's ids.", http.StatusOK, user.ScopeMemoryRead)), web.Tool{}), listMemories)
	web.Register(api, web.AsTool(web.Bound(operation(http.MethodGet, "/memory/{memoryId}", "get-memory", "Get a memory",
		"By its id from a listing, a receipt or an event.", http.StatusOK, user.ScopeMemoryRead)), web.Tool{}), getMemory)
	web.Register(api, web.AsTool(web.Bound(operation(http.MethodGet, "/goals", "list-goals", "List goals",
		"In the order of their ids, which derive from the provider's ids.", http.StatusOK, user.ScopeMemoryRead)), web.Tool{}), listGoals)
	web.Register(api, web.Bound(operation(http.MethodGet, "/goals/{goalId}", "get-goal", "Get a goal",
		"With its alignment: progress against the time to its due date.", http.StatusOK, user.ScopeMemoryRead)), getGoal)
	web.Register(api, web.Bound(operation(http.MethodGet, "/goals/{goalId}/history", "get-goal-history", "Get a goal's history",
		"The values of a goal that is measured by a number, one for each day on which it changed, of the last 90 days, newest first.", http.StatusOK, user.ScopeMemoryRead)), getHistory)
	web.Register(api, personal(http.MethodPost, "/goals", "create-goal", "Create a goal",
		"A goal of the company's own. With a measure, its progress is the share of the way from start to target. With a source, each sync of that "+
			"integration reads the value. A company has at most 200 open ones.",
		http.StatusCreated, user.ScopeMemoryWrite), deps.createGoal)
	web.Register(api, personal(http.MethodPatch, "/goals/{goalId}", "change-goal", "Change a goal",
		"Changes the fields that are given, of a goal of the company's own: also its value, or whether it is closed. What an integration imported is changed at its provider.",
		http.StatusOK, user.ScopeMemoryWrite), deps.changeGoal)
	web.Register(api, personal(http.MethodDelete, "/goals/{goalId}", "delete-goal", "Delete a goal",
		"Deletes a goal of the company's own.", http.StatusNoContent, user.ScopeMemoryWrite), deps.deleteGoal)
}

// personal returns an operation by which a person takes responsibility, and which no client may ask for.
func personal(method, path, id, summary, description string, status int, scope string) huma.Operation {
	return web.Personal(operation(method, path, id, summary, description, status, scope))
}

func operation(method, path, id, summary, description string, status int, scope string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{companyId}" + path, Summary: summary, Description: description,
		DefaultStatus: status, Tags: []string{"memory"}, Security: web.Needs(scope),
	})
}
