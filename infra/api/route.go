package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"orgops/functions"
	"orgops/shared/boot"
	"orgops/shared/config"
)

// Group is a route group with the routes that it registers.
type Group struct {
	Name, About string
	Routes      []Route
}

// Route is one registered operation.
type Route struct {
	Operation, Method, Path string
	Guarded                 bool // needs a token of the company that the path names
}

// ReadsOnly reports whether no operation of the group can change anything.
func (g Group) ReadsOnly() bool {
	return !slices.ContainsFunc(g.Routes, func(r Route) bool { return r.Method != http.MethodGet })
}

// paths are the group's, each once.
func (g Group) paths() []string {
	var paths []string
	for _, r := range g.Routes {
		if !slices.Contains(paths, r.Path) {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// Groups registers every route group, as the local run does, and says what came of it: so routes cannot drift from
// what is deployed.
func Groups() ([]Group, error) {
	settings, err := config.Read(func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	services, err := boot.New(settings, boot.Backend{}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, g := range functions.Groups() {
		server := services.Web("")
		g.Register(server.API(), services)
		group := Group{Name: g.Name, About: g.About}
		for _, op := range server.Operations() {
			if strings.ContainsAny(op.Path, "*+") {
				return nil, fmt.Errorf("%s: the gateway has no path %s", op.OperationID, op.Path)
			}
			group.Routes = append(group.Routes, Route{
				Operation: op.OperationID, Method: op.Method, Path: op.Path, Guarded: len(op.Security) > 0,
			})
		}
		groups = append(groups, group)
	}
	return groups, nil
}
