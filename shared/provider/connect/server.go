// Package connect gives integrations access at their providers without pasted tokens: by OAuth 2, or by the installation of a GitHub
// App. It is the only place that knows whether what an integration fetches with was pasted, is a token that it refreshes, or a token that
// it makes.
package connect

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/identity/application"
	"orgops/shared/identity/authcode"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// servers holds the authorization server of each kind of provider. A company's own manifest cannot add one: the operator's secret
// would go there. A provider whose revocation ends more than the one token, as Google's and Slack's do, has no address for it: it
// would end other integrations, of other companies too.
//
//go:embed servers.json
var servers []byte

// server describes how access to a kind of provider is given.
type server struct {
	authcode.Server

	API     string `json:"api"`     // tokens go to its origin alone
	App     bool   `json:"app"`     // by the installation of a GitHub App
	Account string `json:"account"` // the member of the token response that identifies the account, with dots between names; "": none does
	Sites   string `json:"sites"`   // path at the API of the list of sites that a token is for; "": the API itself is the site
	Site    string `json:"site"`    // path at the API that leads to a site with an {id}
}

//nolint:gochecknoglobals // read once, when a connection is first asked about
var table = sync.OnceValue(func() map[string]server {
	var all map[string]server
	if err := json.Unmarshal(servers, &all); err != nil {
		panic(fmt.Sprintf("servers.json: %v", err)) // the file is a part of the program
	}
	return all
})

// Kinds lists the kinds of provider that can be connected, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(table())) }

// registration is the operator's application with the server that it is registered with.
type registration struct {
	server
	app application.Application
}

// client returns the registration for a request that leads back to redirect.
func (r registration) client(redirect string) authcode.Client {
	return authcode.Client{ID: r.app.ClientID, Secret: r.app.ClientSecret, Redirect: redirect}
}

// Registered reports whether the operator has registered an application with a kind of provider.
func (a Access) Registered(ctx context.Context, kind string) (bool, error) {
	if _, known := table()[kind]; !known || a.Applications == nil {
		return false, nil
	}
	_, ok, err := a.Applications.Find(ctx, kind)
	return ok, err
}

// registered returns the operator's application with a kind of provider. It returns fault.Conflict if the operator has none registered.
func (a Access) registered(ctx context.Context, kind string) (registration, error) {
	known, ok := table()[kind]
	if !ok {
		return registration{}, fault.Newf(fault.Conflict, "%s cannot be connected; store credentials. These can: %s", kind, strings.Join(Kinds(), ", "))
	}
	var app application.Application
	var err error
	if ok = a.Applications != nil; ok {
		app, ok, err = a.Applications.Find(ctx, kind)
	}
	if err != nil {
		return registration{}, fault.Wrap(fault.Unavailable, "the operator's applications cannot be read now; try again", err)
	}
	if !ok {
		return registration{}, fault.Newf(fault.Conflict,
			"the operator of this service has not registered an application with %s; ask the operator to register one, or store a token as the credentials", kind)
	}
	if own := app.Server; own != nil {
		known.API, known.Issuer, known.Authorization, known.Token, known.Revocation = own.API, own.Issuer, own.Authorization, own.Token, own.Revocation
	}
	known.Authorization = strings.ReplaceAll(known.Authorization, "{slug}", app.Slug)
	for _, at := range []struct{ name, address string }{{"api", known.API}, {"authorization", known.Authorization}, {"token", known.Token}, {"revocation", known.Revocation}} {
		if problems := a.Client.CheckURL("", at.address); at.address != "" && len(problems) > 0 {
			return registration{}, fault.Newf(fault.Conflict, "the operator's application with %s has an address that cannot be used; ask the operator to correct %s: %s", kind, at.name, problems[0].Detail)
		}
	}
	if known.App && app.AppID == "" {
		return registration{}, fault.Newf(fault.Conflict, "the operator's application with %s is not a GitHub App; ask the operator to add appId, slug and privateKey", kind)
	}
	return registration{known, app}, nil
}

// reaches returns fault.Conflict unless the tokens of the application may go where the integration fetches. A token for sites goes to the API
// alone, which leads to the integration's site if the token is for that.
func (r registration) reaches(conn connector.Connector, i integration.Integration) error {
	if r.Sites == "" && connector.Origin(conn, i.Config) != outbound.Origin(r.API) {
		return fault.Newf(fault.Conflict, "%s fetches from another server than %s, with which the operator has registered an application; store a token as the credentials", i.Provider, r.API)
	}
	return nil
}
