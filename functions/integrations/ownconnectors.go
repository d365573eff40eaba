package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/user"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/rehearsal"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// OwnConnector shows a connector that a company describes itself.
type OwnConnector struct {
	Kind         string          `json:"kind" doc:"its name in paths" example:"tickets"`
	Manifest     json.RawMessage `json:"manifest" doc:"the manifest; store a changed copy of it"`
	Integrations []string        `json:"integrations" nullable:"false" doc:"the integrations of this kind" example:"[\"tickets\", \"tickets-support\"]"`
	CreatedAt    time.Time       `json:"createdAt" doc:"when it was stored first"`
	UpdatedAt    time.Time       `json:"updatedAt" doc:"when it last changed"`
}

// KindInput holds the path parameter of the operations on a company's own connector.
type KindInput struct {
	Kind string `path:"kind" maxLength:"31" doc:"the kind that the manifest names" example:"tickets"`
}

type ownConnectorInput struct {
	KindInput
	web.IfNoneMatch
}

type putConnectorInput struct {
	KindInput
	web.Creation
	RawBody []byte `contentType:"application/json"`
}

type deleteConnectorInput struct {
	KindInput
	web.IfMatch
}

// registerOwn adds the operations on the connectors that a company describes itself.
func (d Deps) registerOwn(api huma.API) {
	const one = "/connectors/{kind}"
	write := user.ScopeIntegrationsWrite
	web.Register(api, operation(http.MethodGet, one, "get-connector", "Get a connector of one's own",
		"With its manifest. A kind of the service answers 404; list-connectors shows it.", 200, write), d.getConnector)
	web.Register(api, operation(http.MethodPut, one, "put-connector", "Store a connector of one's own",
		"Stores a manifest, which describes a provider whose lists are fetched. It is checked against the JSON Schema of manifests, and each problem has its place. "+
			"A changed manifest returns the integrations of its kind to the sandbox and ends their syncs. If the base leads to another host, their credentials end.", 200, write), d.putConnector, describeManifest)
	web.Register(api, operation(http.MethodDelete, one, "delete-connector", "Delete a connector of one's own",
		"Answers 409 while an integration of its kind exists.", 204, write), d.deleteConnector)
	web.Register(api, web.Unaudited(operation(http.MethodPost, "/connectors/test", "test-connector", "Try a manifest",
		"Fetches up to three pages from the manifest's server, under the company's policies, and shows the requests, the records and what they become. "+
			"It stores nothing, and shows no credentials.", 200, write), "a trial changes nothing"), d.testConnector)
}

// manifestExample is a whole manifest.
const manifestExample = `{
  "kind": "tickets", "title": "Tickets of Example", "description": "Open tickets become memories.",
  "base": "https://api.example.com/v1",
  "auth": {"type": "bearer", "title": "API key", "description": "Make one in the settings, with the right to read."},
  "lists": {"kinds": ["ticket"]},
  "streams": [{
    "name": "tickets", "request": {"path": "/tickets"}, "records": "/data",
    "paging": {"type": "cursor", "pointer": "/next", "parameter": "after"},
    "mapping": {"rules": [{"when": ".item.id != null", "action": "memory.upsert", "with": {"externalId": ".item.id | tostring", "kind": "\"ticket\"", "title": ".item.subject"}}]}
  }]
}`

// describeManifest documents the body of put-connector.
func describeManifest(op huma.Operation) huma.Operation {
	return web.DescribeBody(op, web.Body{
		Components: map[string]*huma.Schema{"ConnectorManifest": {
			Type: huma.TypeObject, AdditionalProperties: true, Description: "A manifest. The guide on connectors of one's own has its parts; what is wrong is told with its place.",
		}},
		Schema:   &huma.Schema{Ref: web.ComponentRef("ConnectorManifest")},
		Examples: []web.Example{{Name: "tickets", Summary: "a list with cursors", Value: json.RawMessage(manifestExample)}},
	})
}

// storedKind is a stored manifest with the integrations that it describes.
type storedKind struct {
	integration.StoredManifest
	version int64 // 0: none is stored
	uses    []integration.Stored
}

// storedKind reads a manifest of the company. It returns the zero manifest and version 0 if none is stored.
func (d Deps) storedKind(ctx context.Context, kind string) (k storedKind, err error) {
	c := web.Tenant(ctx)
	k.StoredManifest, k.version, err = integration.LoadManifest(ctx, c, kind)
	if err != nil {
		return k, err
	}
	all, err := integration.List(ctx, c)
	for _, i := range all {
		if i.Manifest != nil && i.Kind == kind {
			k.uses = append(k.uses, i)
		}
	}
	return k, err
}

// revision identifies a stored manifest, as its ETag without the list of its integrations. It is "" if none is stored. It includes the time
// at which the kind was first stored, because a manifest that is stored after a deletion counts its versions from 1 again.
func (k storedKind) revision() string {
	if k.version == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%x-%s", k.version, k.CreatedAt.UnixMilli(), k.Digest[:min(16, len(k.Digest))])
}

func (k storedKind) show() OwnConnector {
	out := OwnConnector{
		Kind: k.Kind, Manifest: k.Manifest, Integrations: []string{}, CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt,
	}
	for _, i := range k.uses {
		out.Integrations = append(out.Integrations, i.Provider)
	}
	return out
}

func (d Deps) getConnector(ctx context.Context, in *ownConnectorInput) (*web.Tagged[OwnConnector], error) {
	k, err := d.storedKind(ctx, in.Kind)
	if err != nil {
		return nil, err
	}
	shown := k.show()
	etag, err := web.ETagAt(k.revision(), shown)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, etag, web.Ready(shown))
}

// putConnector stores a manifest with the integrations that it describes, in one transaction. It takes the turn of creations, so that no
// integration of the kind is made meanwhile.
func (d Deps) putConnector(ctx context.Context, in *putConnectorInput) (*web.Tagged[OwnConnector], error) {
	m, err := rehearsal.Read(in.RawBody, web.CheckBody)
	if err != nil {
		return nil, err
	}
	if err := fault.Refuse(m.CheckAddresses(d.Client)); err != nil {
		return nil, err
	}
	if err := d.checkKind(in.Kind, m.Kind); err != nil {
		return nil, err
	}
	raw, err := connector.Canonical(connector.Page(in.RawBody))
	if err != nil {
		return nil, err
	}
	next := integration.StoredManifest{Kind: m.Kind, Manifest: raw, Digest: connector.Digest(raw), By: web.CallerOf(ctx).UserID, UpdatedAt: d.Now().UTC()}
	var k storedKind
	err = web.Tenant(ctx).InTurn(ctx, "integrations", func() (ops []store.Op, err error) {
		k, ops, err = d.replaced(ctx, in.Creation, next)
		return ops, err
	})
	if err != nil {
		return nil, in.Overtaken(store.Fault(err, ""))
	}
	shown := k.show()
	etag, err := web.ETagAt(k.revision(), shown)
	return &web.Tagged[OwnConnector]{Status: http.StatusOK, ETag: etag, Body: &shown}, err
}

// checkKind refuses a kind that differs from the path's, and a kind that the service has or uses itself.
func (d Deps) checkKind(path, kind string) error {
	if path != kind {
		return fault.Refuse([]fault.FieldError{{Pointer: "/kind", Detail: "must be the kind of the path"}})
	}
	if _, taken := d.Connectors.Lookup(kind); taken || kind == goal.Own || kind == "test" {
		return fault.Refuse([]fault.FieldError{{Pointer: "/kind", Detail: "is a name of the service's own; choose another one"}})
	}
	return nil
}

// replaced returns a manifest as it is stored next, and the writes that store it. It returns no writes if the manifest is stored already.
func (d Deps) replaced(ctx context.Context, in web.Creation, next integration.StoredManifest) (k storedKind, ops []store.Op, err error) {
	c := web.Tenant(ctx)
	k, err = d.storedKind(ctx, next.Kind)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return k, nil, err
	}
	if err := in.Check(k.revision()); err != nil {
		return k, nil, err
	}
	if next.CreatedAt = k.CreatedAt; k.version == 0 {
		next.CreatedAt = next.UpdatedAt
		if err := roomForManifest(ctx, c); err != nil {
			return k, nil, err
		}
	}
	if k.Digest == next.Digest && connector.Digest(k.Manifest) == next.Digest {
		return k, nil, nil
	}
	was, is, err := d.connectors(k.StoredManifest, next)
	if err != nil {
		return k, nil, err
	}
	ops = []store.Op{integration.SaveManifest(c, k.version, next)}
	for _, i := range k.uses {
		op, err := redescribe(ctx, c, i, was, is, next)
		if err != nil {
			return k, nil, err
		}
		ops = append(ops, op...)
	}
	k.StoredManifest = next
	k.version++
	return k, ops, nil
}

// roomForManifest returns fault.Conflict if the company has as many manifests as it may have.
func roomForManifest(ctx context.Context, c store.Company) error {
	all, err := integration.ListManifests(ctx, c)
	plan := web.CallerOf(ctx).Plan
	if most := integration.MostManifests(plan); err == nil && len(all) >= most {
		err = fault.Newf(fault.Conflict, "a company on the plan %s has at most %d connectors of its own; delete one first", plan, most)
	}
	return err
}

// connectors returns the connector of the stored manifest, and of the next one. was is nil if no manifest is stored that can be read.
func (d Deps) connectors(stored, next integration.StoredManifest) (was, is *manifest.Connector, err error) {
	of := func(s integration.StoredManifest) (*manifest.Connector, error) {
		m, err := manifest.Parse(s.Manifest)
		if err != nil {
			return nil, err
		}
		return manifest.New(s.Kind, func() *manifest.Manifest { return m }, d.Client, d.Now), nil
	}
	if is, err = of(next); err != nil {
		return nil, nil, err
	}
	if connector.Digest(stored.Manifest) == stored.Digest {
		was, _ = of(stored) // what cannot be read is replaced
	}
	return was, is, nil
}

// redescribe returns the writes that put an integration under another manifest of its kind: in the sandbox, with the ports that the
// manifest asks for, and without its credentials if they would go to another origin. was is nil if it is not known where they went.
func redescribe(
	ctx context.Context, c store.Company, s integration.Stored, was, is *manifest.Connector, next integration.StoredManifest,
) (ops []store.Op, err error) {
	i := s.Integration
	if i.State == integration.Certified {
		i = i.Sandboxed(integration.SandboxedByChange, next.UpdatedAt)
	}
	ports := i.Asks(is.Ports(i.Config))
	if i.Narrowed {
		ports = slices.DeleteFunc(ports, func(p integration.Port) bool { return !i.Has(p) })
	}
	if was == nil || connector.Origin(was, i.Config) != connector.Origin(is, i.Config) {
		i.Credentials, i.Connection = nil, nil
		op, there, err := removal(ctx, c, integration.CredentialKey(i.Provider), integration.CredentialEntity)
		if err != nil {
			return nil, err
		}
		if there {
			ops = append(ops, op)
		}
	}
	i.Permissions, i.Manifest, i.UpdatedAt = ports, &integration.ManifestRef{Digest: next.Digest}, next.UpdatedAt
	return append(ops, c.Replace(integration.Key(i.Provider), integration.Entity, s.Version, i)), nil
}

// deleteConnector removes a manifest. It takes the turn of creations, so that no integration of the kind is made meanwhile.
func (d Deps) deleteConnector(ctx context.Context, in *deleteConnectorInput) (*struct{}, error) {
	c := web.Tenant(ctx)
	err := c.InTurn(ctx, "integrations", func() ([]store.Op, error) {
		k, err := d.storedKind(ctx, in.Kind)
		if err != nil {
			return nil, err
		}
		if err := in.Check(k.revision()); err != nil {
			return nil, err
		}
		if used := k.show().Integrations; len(used) > 0 {
			return nil, fault.Newf(fault.Conflict, "the integration %s has this kind; delete it first", strings.Join(used[:min(len(used), 5)], ", "))
		}
		return []store.Op{c.Delete(integration.ManifestKey(in.Kind), integration.ManifestEntity, k.version).Quietly()}, nil
	})
	return nil, in.Overtaken(store.Fault(err, ""))
}
