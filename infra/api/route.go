package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"orgops/functions"
	"orgops/shared/provider/catalog"
	"orgops/shared/run/boot"
	"orgops/shared/run/server"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// Group holds a route group with the routes that it registers.
type Group struct {
	Name, About string
	Routes      []Route
}

// Route describes one registered operation.
type Route struct {
	Operation, Method, Path string
	Guarded                 bool // the authorizer admits a token of the company in the path
}

// ReadsOnly reports whether no operation of the group can change anything.
func (g Group) ReadsOnly() bool {
	return !slices.ContainsFunc(g.Routes, func(r Route) bool { return r.Method != http.MethodGet })
}

// Groups registers every route group except those that without names, as the local run does, and returns the registered routes, so that the deployed routes
// cannot differ.
func Groups(without ...string) ([]Group, error) {
	client := outbound.New(outbound.Options{})
	services := boot.New(boot.Parts{Connectors: catalog.All(client, time.Now), Client: client, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	var groups []Group
	for _, g := range functions.Groups(without...) {
		s := server.New(services, server.Options{})
		g.Mount(s.API(), services)
		group := Group{Name: g.Name, About: g.About}
		for _, op := range s.Operations() {
			if strings.ContainsAny(op.Path, "*+") {
				return nil, fmt.Errorf("%s: the gateway does not support path %s", op.OperationID, op.Path)
			}
			if strings.HasSuffix(op.Path, "/") { // the gateway's resource is that of the path without the slash
				continue
			}
			group.Routes = append(group.Routes, Route{
				Operation: op.OperationID, Method: op.Method, Path: op.Path, Guarded: len(op.Security) > 0 && !web.IsMCP(op),
			})
		}
		groups = append(groups, group)
	}
	return groups, nil
}
