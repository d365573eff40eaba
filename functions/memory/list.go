package memory

import (
	"context"
	"fmt"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type memoryInput struct {
	Memory string `path:"memoryId" maxLength:"64" doc:"The memory's id"`
}

type memoryBody struct{ Body memory.Memory }

func getMemory(ctx context.Context, in *memoryInput) (*memoryBody, error) {
	var out memoryBody
	if _, err := get(ctx, memory.Key, in.Memory, "memory", &out.Body); err != nil {
		return nil, err
	}
	return &out, web.Reach(ctx, out.Body.Provider)
}

type goalInput struct {
	Goal string `path:"goalId" maxLength:"64" doc:"The goal's id"`
	web.IfNoneMatch
}

func getGoal(ctx context.Context, in *goalInput) (*web.Tagged[goal.Goal], error) {
	g, version, err := reachedGoal(ctx, in.Goal)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, web.ETag(revision(version, g.UpdatedAt)), web.Ready(g))
}

// reachedGoal reads a goal that the caller may reach.
func reachedGoal(ctx context.Context, goalID string) (g goal.Goal, version int64, err error) {
	item, err := get(ctx, goal.Key, goalID, "goal", &g)
	if err == nil {
		err = web.Reach(ctx, g.Provider)
	}
	return g, item.Version, err
}

// get reads the item that an id from the request names. An invalid id gets the same error as an unknown id.
func get(ctx context.Context, key func(string) string, itemID, noun string, into any) (store.Item, error) {
	missing := fmt.Sprintf("there is no %s with this id", noun)
	if !id.Valid(itemID) {
		return store.Item{}, fault.New(fault.NotFound, missing)
	}
	item, err := web.Tenant(ctx).Get(ctx, key(itemID), into)
	return item, store.Fault(err, missing)
}

// StandingQuery selects what integrations that exist, or deleted ones, have imported.
type StandingQuery struct {
	Integration string `query:"integration" enum:"current,deleted" doc:"only what integrations that exist have imported, or only what deleted ones have, which is kept for reading"`
}

// keep returns a function that reports whether the query selects what an incarnation of a provider's integration has imported.
func (q StandingQuery) keep(ctx context.Context) (func(provider, incarnation string) bool, error) {
	if q.Integration == "" {
		return func(string, string) bool { return true }, nil
	}
	all, err := integration.List(ctx, web.Tenant(ctx))
	exists := map[[2]string]bool{{goal.Own, ""}: true}
	for _, i := range all {
		exists[[2]string{i.Provider, i.Incarnation}] = true
	}
	return func(provider, incarnation string) bool {
		return exists[[2]string{provider, incarnation}] == (q.Integration == "current")
	}, err
}

type memoriesInput struct {
	web.PageQuery
	StandingQuery
	Provider string `query:"provider" maxLength:"64" doc:"only from this provider" example:"github"`
	Kind     string `query:"kind" maxLength:"64" doc:"only of this kind" example:"issue"`
	Title    string `query:"title" maxLength:"200" doc:"only with this text in the title; upper and lower case count alike" example:"printer"`
}

func listMemories(ctx context.Context, in *memoriesInput) (*web.PageOutput[memory.Memory], error) {
	caller := web.CallerOf(ctx)
	of, err := in.keep(ctx)
	if err != nil {
		return nil, err
	}
	keep := func(m memory.Memory) bool {
		return caller.Reaches(m.Provider) && of(m.Provider, m.Incarnation) && (in.Provider == "" || m.Provider == in.Provider) && (in.Kind == "" || m.Kind == in.Kind) &&
			strings.Contains(strings.ToLower(m.Title), strings.ToLower(in.Title))
	}
	return web.List(ctx, in.PageQuery, store.Query{Prefix: memory.Prefix}, keep, caller.Provider, in.Provider, in.Kind, in.Title, in.Integration)
}

type goalsInput struct {
	web.PageQuery
	StandingQuery
	Provider string `query:"provider" maxLength:"64" doc:"only from this provider"`
	State    string `query:"state" enum:"open,closed" doc:"only in this state"`
	Status   string `query:"status" enum:"aligned,drifting,misaligned" doc:"only with this alignment"`
}

func listGoals(ctx context.Context, in *goalsInput) (*web.PageOutput[goal.Goal], error) {
	caller := web.CallerOf(ctx)
	of, err := in.keep(ctx)
	if err != nil {
		return nil, err
	}
	keep := func(g goal.Goal) bool {
		return caller.Reaches(g.Provider) && of(g.Provider, g.Incarnation) && (in.Provider == "" || g.Provider == in.Provider) && (in.State == "" || string(g.State) == in.State) &&
			(in.Status == "" || string(g.Alignment.Status) == in.Status)
	}
	return web.List(ctx, in.PageQuery, store.Query{Prefix: goal.Prefix}, keep, caller.Provider, in.Provider, in.State, in.Status, in.Integration)
}

type syncsInput struct {
	web.PageQuery
	Provider string `query:"provider" maxLength:"64" doc:"only of this provider" example:"feed"`
	State    string `query:"state" enum:"requested,running,awaiting-confirmation,succeeded,failed,cancelled" doc:"only in this state"`
}

func listSyncs(ctx context.Context, in *syncsInput) (*web.PageOutput[syncrun.Run], error) {
	caller := web.CallerOf(ctx)
	keep := func(r syncrun.Run) bool {
		return caller.Reaches(r.Provider) && (in.Provider == "" || r.Provider == in.Provider) && (in.State == "" || string(r.State) == in.State)
	}
	return web.List(ctx, in.PageQuery, store.Query{Prefix: syncrun.Prefix, Desc: true}, keep, caller.Provider, in.Provider, in.State)
}
