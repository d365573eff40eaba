// Package group runs one route group as a Lambda function.
package group

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/identity/usagekey"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/lambda/gateway"
	"orgops/shared/run/lambda/start"
	"orgops/shared/run/server"
)

// Mount adds a group's operations to an API.
type Mount func(huma.API, *boot.Services)

// All mounts the operations of several mounts.
func All(mounts ...Mount) Mount {
	return func(api huma.API, s *boot.Services) {
		for _, mount := range mounts {
			mount(api, s)
		}
	}
}

// Serve answers API Gateway's events with a route group, on the main table and the added parts, until the process ends.
// Until the secret with the token keys can be read, it answers 503.
func Serve(mount Mount, add ...cloud.Adder) {
	serveWith(secretsmanager.Keys, (*usagekey.Buckets).Take, mount, add...)
}

// ServeAlone does the same for a group in front of which the gateway has no authorizer, so that it counts no requests of plans.
func ServeAlone(mount Mount, add ...cloud.Adder) {
	serveWith(secretsmanager.Keys, (*usagekey.Buckets).TakeAny, mount, add...)
}

// ServeSigning does the same for the group that signs tokens. It needs the secret with the signing keys too.
func ServeSigning(mount Mount, add ...cloud.Adder) {
	serveWith(secretsmanager.SigningKeys, (*usagekey.Buckets).Take, mount, add...)
}

// count counts a request against a company's plan, and against the limits of the agent that sends it.
type count func(b *usagekey.Buckets, company, plan, agent string) (limit string, wait time.Duration)

func serveWith(read func(context.Context, *cloud.Cloud) (*tokensecret.Keyring, error), take count, mount Mount, add ...cloud.Adder) {
	serve(func(ctx context.Context, c *cloud.Cloud) (http.Handler, error) {
		keys, err := read(ctx, c)
		if err != nil {
			return nil, err
		}
		services := c.Services(append([]cloud.Adder{dynamodb.Add}, add...)...)
		services.Keys = token.AtHand{Signs: keys.Signer(), Verifies: keys.Public}
		o := server.Options{Verifier: keys, CursorKey: keys.Cursor(), Origins: c.Config.Origins, OnDemand: true}
		if c.Settings.PlanLimits {
			buckets := usagekey.NewBuckets(c.Now)
			o.Plan = func(company, plan, agent string) (string, time.Duration) { return take(buckets, company, plan, agent) }
		}
		s := server.New(services, o)
		mount(s.API(), services)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys.Refresh(r.Context())
			s.ServeHTTP(w, r)
		}), c.Missing()
	})
}

// ServePages serves a group that needs no part of the service. Its answers are text without an encoding, because the gateway
// compresses them itself.
func ServePages(mount Mount) {
	serve(func(_ context.Context, c *cloud.Cloud) (http.Handler, error) {
		services := c.Services()
		s := server.New(services, server.Options{Origins: c.Config.Origins, OnDemand: true})
		mount(s.API(), services)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Accept-Encoding")
			s.ServeHTTP(w, r)
		}), nil
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
