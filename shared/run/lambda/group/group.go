// Package group runs one route group as a Lambda function.
package group

import (
	"context"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/lambda/gateway"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/server"
	"orgops/shared/web"
)

// Mount adds a group's operations to an API.
type Mount func(huma.API, *boot.Services)

// Serve answers API Gateway's events with a route group, on the main table and the added parts, until the process ends.
// Until the secret with the token keys can be read, it answers 503.
func Serve(mount Mount, add ...cloud.Adder) {
	serve(func(ctx context.Context, c *cloud.Cloud) (http.Handler, error) {
		keys, err := secretsmanager.Keys(ctx, c)
		if err != nil {
			return nil, err
		}
		s, err := mounted(c, mount, server.Options{Verifier: keys, CursorKey: keys.Cursor()}, add...)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys.Refresh(r.Context())
			s.ServeHTTP(w, r)
		}), err
	})
}

// ServeSigning serves the group that signs tokens. All of its operations are public, so it reads the keys on first use
// rather than at the start.
func ServeSigning(mount Mount) {
	serve(func(_ context.Context, c *cloud.Cloud) (http.Handler, error) {
		return mounted(c, mount, server.Options{}, secretsmanager.AddSigning)
	})
}

func serve(build func(context.Context, *cloud.Cloud) (http.Handler, error)) {
	c, err := cloud.Open()
	handler := func(ctx context.Context) (http.Handler, error) {
		if err != nil {
			return nil, err
		}
		return build(ctx, c)
	}
	lambda.Start(start.Metered(c.Metrics, gateway.New(context.Background(), handler, c.Logger, c.Config.Origins).Answer))
}

func mounted(c *cloud.Cloud, mount Mount, o server.Options, add ...cloud.Adder) (*web.Server, error) {
	services := c.Services(append([]cloud.Adder{dynamodb.Add}, add...)...)
	o.Origins, o.OnDemand = c.Config.Origins, true
	s := server.New(services, o)
	mount(s.API(), services)
	return s, c.Missing()
}
