package operations

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/client"
	"orgops/shared/domain/company"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/identity/assertion"
	"orgops/shared/identity/clientsecret"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerClients(api huma.API) {
	const all, one = "/clients", "/clients/{clientId}"
	web.Register(api, clientOperation(http.MethodGet, all, "list-clients", "List clients",
		"The machines that act with keys or secrets of their own. Oldest first. Only founders manage clients.", http.StatusOK), d.listClients)
	web.Register(api, clientOperation(http.MethodPost, all, "create-client", "Create a client",
		"A client without keys and without federation gets a secret, which is shown only now. It asks for tokens at POST /auth/token with the "+
			"grant client_credentials. It never configures, certifies, approves, or manages users, clients or policies.",
		http.StatusCreated), d.createClient)
	web.Register(api, clientOperation(http.MethodGet, one, "get-client", "Get a client", "Never with a secret.", http.StatusOK), d.getClient)
	web.Register(api, clientOperation(http.MethodPatch, one, "update-client", "Change or disable a client",
		"An absent field stays as it is. federation null removes the federation, and an empty list of secrets ends the secrets; a client without key, "+
			"secret and federation gets no tokens. Any change but of name and purpose ends the client's tokens within five seconds; it may ask for new ones at "+
			"once, unless it is disabled. The executive and the integration of a client stay.", http.StatusOK), d.updateClient)
	web.Register(api, clientOperation(http.MethodDelete, one, "delete-client", "Delete a client",
		"Ends the client's tokens within five seconds.", http.StatusNoContent), d.deleteClient)
	web.Register(api, clientOperation(http.MethodPost, one+"/keys", "rotate-client-keys", "Register new keys of a client",
		"The keys before go on for 24 hours, or end at once with endFormer. An assertion signed by a key (RFC 7523) names the issuer of the service "+
			"as its only audience, counts once, and ends within 5 minutes.", http.StatusOK), d.rotateKeys)
	web.Register(api, clientOperation(http.MethodPost, one+"/secret", "rotate-client-secret", "Make a new secret of a client",
		"The new secret is shown only now. The one before goes on for 24 hours, or ends at once with endFormer.", http.StatusOK), d.rotateClientSecret)
}

// clientOperation returns an operation for founders alone: it also needs the scope to configure executives, which no other role has, so
// that no operator gives a machine more than operators may do.
func clientOperation(method, path, id, summary, description string, status int) huma.Operation {
	op := operation(method, path, id, summary, description, status, "")
	op.Security = web.Needs(user.ScopeOperationsWrite, user.ScopeExecutivesWrite)
	return op
}

// MachineClient shows a client in the API. Generated clients have a class Client of their own.
type MachineClient struct {
	ID       string `json:"id" format:"uuid" doc:"UUIDv7"`
	ClientID string `json:"clientId" doc:"the client_id that the client sends to POST /auth/token" example:"0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11.0198c5f2-7a00-7000-8000-00000000000b"`
	client.Draft
	Keys       []client.PublicKey `json:"keys" nullable:"false" doc:"the registered keys that are accepted now"`
	Secrets    []ClientSecret     `json:"secrets" nullable:"false" doc:"the secrets that are accepted now, the newest first, without their text"`
	Disabled   bool               `json:"disabled" doc:"true: the client gets no tokens"`
	LastUsedAt *time.Time         `json:"lastUsedAt,omitempty" doc:"when the client last got a token, to the minute; absent: never"`
	CreatedAt  time.Time          `json:"createdAt" doc:"when it was created"`
	UpdatedAt  time.Time          `json:"updatedAt" doc:"when it was last changed"`
}

// ClientSecret describes a secret without its text.
type ClientSecret struct {
	Hint      string     `json:"hint" doc:"the last characters of the secret" example:"4PMb"`
	CreatedAt time.Time  `json:"createdAt" doc:"when it was made"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"until when a secret is accepted that was replaced; absent for the current one"`
}

// ClientList shows the clients of a company.
type ClientList struct {
	Items []MachineClient `json:"items" nullable:"false" doc:"every client, the oldest first"`
}

type clientsOutput struct{ Body ClientList }

func (d Deps) show(ctx context.Context, s client.Stored) (MachineClient, error) {
	now := d.Now()
	keys, err := s.PublicKeys(now)
	if err != nil {
		return MachineClient{}, err
	}
	out := MachineClient{
		ID: s.ID, ClientID: s.ClientID(web.Tenant(ctx).ID()), Draft: s.Draft, Keys: keys, Secrets: []ClientSecret{}, Disabled: s.Disabled,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	for _, one := range client.LiveSecrets(s.Secrets, now) {
		out.Secrets = append(out.Secrets, ClientSecret{one.Hint, one.CreatedAt, one.ExpiresAt})
	}
	if !s.LastUsed.IsZero() {
		out.LastUsedAt = &s.LastUsed
	}
	return out, nil
}

func (d Deps) listClients(ctx context.Context, _ *struct{}) (*clientsOutput, error) {
	all, err := client.List(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	out := &clientsOutput{ClientList{Items: make([]MachineClient, len(all))}}
	for n, s := range all {
		if out.Body.Items[n], err = d.show(ctx, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ClientInput holds the path parameter of the operations on one client.
type ClientInput struct {
	ClientID string `path:"clientId" maxLength:"64" doc:"The client's id" example:"0198c5f2-7a00-7000-8000-00000000000b"`
}

func (d Deps) getClient(ctx context.Context, in *struct {
	ClientInput
	web.IfNoneMatch
}) (*web.Tagged[MachineClient], error) {
	s, err := client.Load(ctx, web.Tenant(ctx), in.ClientID)
	if err != nil {
		return nil, err
	}
	shown, err := d.show(ctx, s)
	if err != nil {
		return nil, err
	}
	etag, err := web.ETagAt(s.Revision(), shown)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, etag, web.Ready(shown))
}

// ClientRequest says what a client should be.
type ClientRequest struct {
	client.Draft
	Keys *client.KeySet `json:"keys,omitempty" doc:"the public keys that verify the client's assertions, as a JSON Web Key Set; absent: none"`
}

// IssuedClient shows a client with a secret that was made for it.
type IssuedClient struct {
	MachineClient
	ClientSecret string `json:"clientSecret,omitempty" doc:"the new secret; shown only once, and absent if none was made" example:"orgops_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp"`
}

type issuedOutput struct {
	Location string `header:"Location" doc:"the client's path, if it was created"`
	ETag     string `header:"ETag"`
	Body     IssuedClient
}

func (d Deps) createClient(ctx context.Context, in *struct{ Body ClientRequest }) (*issuedOutput, error) {
	c, now := web.Tenant(ctx), d.Now().UTC().Truncate(time.Millisecond)
	var keys []assertion.Key
	if in.Body.Keys != nil {
		var err error
		if keys, err = in.Body.Keys.Parse("/keys"); err != nil {
			return nil, err
		}
	}
	s := client.Stored{Client: client.New(in.Body.Draft, keys, now)}
	if err := d.checkClient(ctx, c, &s, now); err != nil {
		return nil, err
	}
	web.Affects(ctx, "operations/clients/"+s.ID)
	secret := ""
	if len(keys) == 0 && s.Federation == nil {
		secret = clientsecret.New()
		s.Secrets = []client.Secret{client.NewSecret(secret, now)}
	}
	err := c.InTurn(ctx, "clients", func() ([]store.Op, error) {
		all, err := client.List(ctx, c)
		if err == nil && len(all) >= client.MaxPerCompany {
			err = fault.Newf(fault.Conflict, "a company has at most %d clients; delete one first", client.MaxPerCompany)
		}
		ops := []store.Op{s.Save(c), tell(ctx, s, timeline.ClientCreated, "was created", now)}
		if secret != "" {
			ops = append(ops, s.SaveSecrets(c))
		}
		return ops, err
	})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	s.Version = 1
	out, err := d.issued(ctx, s, secret)
	if err == nil {
		out.Location = web.CompanyPath(ctx) + "/operations/clients/" + s.ID
	}
	return out, err
}

// issued answers a client after a write, with a secret that was made for it.
func (d Deps) issued(ctx context.Context, s client.Stored, secret string) (*issuedOutput, error) {
	shown, err := d.show(ctx, s)
	if err != nil {
		return nil, err
	}
	etag, err := web.ETagAt(s.Revision(), shown)
	return &issuedOutput{ETag: etag, Body: IssuedClient{MachineClient: shown, ClientSecret: secret}}, err
}

// checkClient refuses a client that is wrong by itself, or may not be its owner's, its executive's or its provider's. It sets what
// tells the executive from a later one of the same name.
func (d Deps) checkClient(ctx context.Context, c store.Company, s *client.Stored, now time.Time) error {
	problems := s.Check(now)
	if s.Disabled { // it can be changed while its owner or its executive is gone, and is checked when it is enabled
		return fault.Refuse(problems)
	}
	if s.Federation != nil {
		problems = append(problems, d.Client.CheckBase("/federation/issuer", s.Federation.Issuer)...)
	}
	owner, _, err := company.GetUser(ctx, c, s.Owner)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	problems = append(problems, s.CheckOwner(owner)...)
	if s.Provider != "" {
		if _, err := d.Connectors.Find(ctx, c, s.Provider); err != nil {
			problems = append(problems, fault.FieldError{Pointer: "/provider", Detail: "is no integration; GET /companies/{companyId}/connectors lists the kinds"})
		}
	}
	if s.Executive != "" {
		s.Scopes = []string{user.ScopeExecutivesAct}
		e, err := executive.Load(ctx, c, s.Executive)
		switch {
		case fault.KindOf(err) == fault.NotFound || err == nil && !s.Since.IsZero() && !s.Since.Equal(e.CreatedAt):
			problems = append(problems, fault.FieldError{Pointer: "/executive", Detail: "is no executive of the company; configure it first"})
		case err != nil:
			return err
		}
		s.Since = e.CreatedAt
	}
	if err := fault.Refuse(problems); err != nil {
		return err
	}
	return within(ctx, *s)
}

// within returns fault.Forbidden if a client has a scope that the caller's token was not given by request. Otherwise the client's tokens
// would widen it.
func within(ctx context.Context, s client.Stored) error {
	caller := web.CallerOf(ctx)
	for _, scope := range s.Scopes {
		if caller.Narrowed && !caller.Has(scope) {
			return fault.Newf(fault.Forbidden, "your token was not given %s, a scope of the client; ask for a token without naming scopes", scope)
		}
	}
	return nil
}

// tell returns the write that tells on the timeline what a founder did to a client.
func tell(ctx context.Context, s client.Stored, kind timeline.Kind, what string, now time.Time) store.Op {
	e := timeline.Entry{
		ID: timeline.ID(now, kind, s.ID, fmt.Sprint(s.Version)), At: now, Kind: kind, Title: "The client " + s.Name + " " + what,
		Actor:   timeline.Reference{Type: user.Entity, ID: web.CallerOf(ctx).UserID},
		Subject: timeline.Reference{Type: client.Entity, ID: s.ID},
	}
	return e.Create(web.Tenant(ctx))
}
