package simulate_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/danielgtaylor/huma/v2"

	executivesgroup "orgops/functions/executives"
	inboundgroup "orgops/functions/inbound"
	integrationsgroup "orgops/functions/integrations"
	intelligencegroup "orgops/functions/intelligence"
	memorygroup "orgops/functions/memory"
	missiongroup "orgops/functions/missioncontrol"
	operationsgroup "orgops/functions/operations"
	basefault "orgops/shared/base/fault"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/run/boot"
	"orgops/shared/run/lambda/gateway"
	"orgops/shared/run/server"
	"orgops/shared/storage/store"
)

// gatewayTimeout is how long API Gateway waits for a function.
const gatewayTimeout = 29 * time.Second

// addGroups deploys the route groups, each as its program does.
func (w *world) addGroups() {
	w.groups = map[string]*function{}
	for _, g := range []struct {
		name   string
		mounts []func(huma.API, *boot.Services)
	}{
		{"inbound", []func(huma.API, *boot.Services){inboundgroup.Mount, integrationsgroup.MountCertification}},
		{"integrations", []func(huma.API, *boot.Services){integrationsgroup.Mount}},
		{"memory", []func(huma.API, *boot.Services){memorygroup.Mount}},
		{"mission-control", []func(huma.API, *boot.Services){missiongroup.Mount}},
		{"intelligence", []func(huma.API, *boot.Services){intelligencegroup.Mount}},
		{"operations", []func(huma.API, *boot.Services){operationsgroup.Mount}},
		{"executives", []func(huma.API, *boot.Services){executivesgroup.Mount}},
	} {
		f := &function{name: g.name, timeout: 30 * time.Second, build: serving(g.mounts)}
		w.groups[g.name] = f
		w.functions = append(w.functions, f)
	}
}

// serving returns what builds an environment of route groups.
func serving(mounts []func(huma.API, *boot.Services)) func(*environment) func(context.Context, any) (any, error) {
	return func(e *environment) func(context.Context, any) (any, error) {
		s := e.services()
		s.Connectors = connector.New(genericwebhook.New(s.Client), source{e})
		g := gateway.New(e.ctx, func(context.Context) (http.Handler, error) {
			handler := server.New(s, server.Options{OnDemand: true, Verifier: badges{}, CursorKey: make([]byte, 32)})
			for _, mount := range mounts {
				mount(handler.API(), s)
			}
			return handler, nil
		}, slog.New(slog.DiscardHandler), nil)
		return adapted(g.Answer)
	}
}

// badges verifies the tokens of the simulated users: a user's id, a dot and the company. Each is a founder.
type badges struct{}

// Verify implements web.Verifier.
func (badges) Verify(text string, _ ...string) (token.Claims, error) {
	who, company, ok := strings.Cut(text, ".")
	if !ok {
		return token.Claims{}, basefault.New(basefault.Unauthenticated, "no token")
	}
	return token.Claims{
		ID: text, Subject: who, Company: company, Plan: "free", Role: string(user.Founder), Scopes: user.Founder.Scopes(),
	}, nil
}

// groupOf returns the function that serves a path.
func (w *world) groupOf(path string) *function {
	parts := strings.Split(path, "/")
	if parts[1] == "inbound" || strings.HasSuffix(path, "/certification") && parts[3] == "integrations" {
		return w.groups["inbound"]
	}
	if parts[3] == "goals" {
		return w.groups["memory"]
	}
	return w.groups[parts[3]]
}

// request sends a request through API Gateway. It returns the answer and the invocation that gave it, or an error if the gateway
// has no answer of the function.
func (cl client) request(ctx context.Context, e events.APIGatewayProxyRequest) (out events.APIGatewayProxyResponse, by *invocation, err error) {
	type result struct {
		out any
		err error
	}
	got := make(chan result, 1)
	c := &call{id: cl.e.who(ctx) + " requests " + e.HTTPMethod + " " + e.Path, kind: gate}
	c.do = func() error {
		env := cl.w.free(cl.w.groupOf(e.Path))
		if env == nil { // Lambda throttles the gateway
			got <- result{err: errThrottled}
			return nil
		}
		by = cl.w.invoke(env, e, func(out any, err error) { got <- result{out, err} })
		cl.w.trace.add("%s gets %s", by.name, e.RequestContext.RequestID)
		return nil
	}
	if err := cl.w.ask(ctx, c); err != nil {
		return out, nil, err
	}
	select {
	case r := <-got:
		if r.err != nil {
			return out, nil, r.err
		}
		return r.out.(events.APIGatewayProxyResponse), by, nil
	case <-time.After(gatewayTimeout): // the function goes on
		return out, nil, errThrottled
	}
}

var errThrottled = fmt.Errorf("the gateway has no answer: %w", store.ErrUnavailable)

// pause lets time pass.
func (cl client) pause(ctx context.Context, d time.Duration) error {
	return cl.w.ask(ctx, &call{id: cl.e.who(ctx) + " waits", kind: gate, at: time.Now().Add(d), do: func() error { return nil }})
}
