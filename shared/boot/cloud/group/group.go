// Package group runs one route group as a Lambda function.
package group

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/boot/cloud/tokens"
	"orgops/shared/lambda/gateway"
	"orgops/shared/lambda/start"
	"orgops/shared/store"
	"orgops/shared/web"
)

// Group is what a route group is registered with.
type Group struct {
	*cloud.Cloud
	Store store.Store
	Keys  *tokens.Lazy // of the group that signs tokens
}

// Company binds the store to a company.
func (g *Group) Company(id string) store.Company { return store.For(g.Store, id) }

// Serve answers API Gateway's events with what register puts on the server, for as long as the process lives. Until the
// secret with the token keys can be read, requests are answered with 503.
func Serve(register func(*Group, *web.Server) error) {
	serve(func(ctx context.Context, g *Group) (http.Handler, error) {
		keys, err := tokens.Keys(ctx, g.Cloud)
		if err != nil {
			return nil, err
		}
		server, err := g.server(register, web.Options{Verifier: keys, Tenant: g.Company, CursorKey: keys.Cursor()})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys.Refresh(r.Context())
			server.ServeHTTP(w, r)
		}), err
	})
}

// ServeSigning is Serve for the group that signs tokens. All of its operations are public, so its keys are read when one
// first uses them, and not at the start.
func ServeSigning(register func(*Group, *web.Server) error) {
	serve(func(_ context.Context, g *Group) (http.Handler, error) {
		g.Keys = tokens.LazilySigning(g.Cloud)
		return g.server(register, web.Options{})
	})
}

func serve(build func(context.Context, *Group) (http.Handler, error)) {
	c, err := cloud.Open()
	handler := func(ctx context.Context) (http.Handler, error) {
		if err != nil {
			return nil, err
		}
		return build(ctx, &Group{Cloud: c, Store: data.Main(c)})
	}
	lambda.Start(start.Metered(c.Metrics, gateway.New(context.Background(), handler, c.Logger, c.Config.Origins).Answer))
}

func (g *Group) server(register func(*Group, *web.Server) error, o web.Options) (*web.Server, error) {
	o.Title, o.Logger, o.Now, o.Origins, o.OnDemand = "Organizational Operations Service", g.Logger, g.Now, g.Config.Origins, true
	server := web.New(o)
	return server, errors.Join(register(g, server), g.Missing())
}
