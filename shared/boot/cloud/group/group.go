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
	"orgops/shared/token/tokensecret"
	"orgops/shared/web"
)

// Group is what a route group is registered with.
type Group struct {
	*cloud.Cloud
	Store store.Store
	Keys  *tokensecret.Keyring
}

// Company binds the store to a company.
func (g *Group) Company(id string) store.Company { return store.For(g.Store, id) }

// Serve answers API Gateway's events with what register puts on the server, for as long as the process lives. Until the
// secret with the token keys can be read, requests are answered with 503.
func Serve(register func(*Group, *web.Server) error) { serve(register, tokens.Keys) }

// ServeSigning is Serve for the group that signs tokens.
func ServeSigning(register func(*Group, *web.Server) error) { serve(register, tokens.SigningKeys) }

// reader reads token keys.
type reader func(context.Context, *cloud.Cloud) (*tokensecret.Keyring, error)

func serve(register func(*Group, *web.Server) error, read reader) {
	c, err := cloud.Open()
	build := func(ctx context.Context) (http.Handler, error) {
		if err != nil {
			return nil, err
		}
		return handler(ctx, c, register, read)
	}
	lambda.Start(start.Metered(c.Metrics, gateway.New(context.Background(), build, c.Logger, c.Config.Origins).Answer))
}

func handler(ctx context.Context, c *cloud.Cloud, register func(*Group, *web.Server) error, read reader) (http.Handler, error) {
	g := &Group{Cloud: c, Store: data.Main(c)}
	keys, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	g.Keys = keys
	server := web.New(web.Options{
		Title: "Organizational Operations Service", Logger: c.Logger, Verifier: keys, Tenant: g.Company, CursorKey: keys.Cursor(), Now: c.Now,
		Origins: c.Config.Origins, OnDemand: true,
	})
	if err := errors.Join(register(g, server), c.Missing()); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys.Refresh(r.Context())
		server.ServeHTTP(w, r)
	}), nil
}
