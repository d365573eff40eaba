// Package integrations serves the connectors of a company: configuration, certification, health and recovery.
package integrations

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/functions/integrations/shown"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/identity/application"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/web"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/outbound"
)

// Deps holds what the group works with.
type Deps struct {
	Store        store.Store              // for the ends of connections, whose requests have no token
	Applications application.Applications // registered by the operator; nil: none
	Base, Former string                   // the service's own address, without a slash at the end, and another address that goes on
	Logger       *slog.Logger
	Connectors   connector.Registry
	Client       *outbound.Client // for certifications
	Courier      *courier.Courier
	Engine       policy.Engine
	Vault        integration.Vault
	Now          func() time.Time
	Events       event.Table // nil: the service's

	mappings *mapping.Cache   // set by Register
	schemas  *schemas         // set by Register
	answers  *web.SourceLimit // of providers
}

// Mount registers the group with the service's parts.
func Mount(api huma.API, s *boot.Services) {
	Register(api, Deps{
		Store: s.Store, Applications: s.Applications, Base: s.Base, Former: s.FormerBase, Logger: s.Logger,
		Connectors: s.Connectors, Client: s.Client, Courier: s.Courier(), Engine: s.Engine, Vault: s.Vault, Now: s.Now,
	})
}

// shown returns what showing integrations needs.
func (d Deps) shown() shown.Deps { return shown.Deps{Courier: d.Courier, Now: d.Now} }

// MountCertification registers the operations of certifications, and what else fetches, with the service's parts. The Lambda inbound serves
// them, because it links what they need: the mapping and the policy engine. With both and every parser, integrations would be too large.
func MountCertification(api huma.API, s *boot.Services) {
	d := Deps{
		Applications: s.Applications, Logger: s.Logger,
		Connectors: s.Connectors, Client: s.Client, Engine: s.Engine, Vault: s.Vault, Now: s.Now, mappings: new(mapping.Cache),
	}
	d.registerCertification(api)
}

// Register adds the group's operations to api, except those of MountCertification.
func Register(api huma.API, d Deps) {
	d.mappings, d.schemas, d.answers = new(mapping.Cache), new(schemas), web.NewSourceLimit("connection-answer", MaxFromSource, d.Now)
	const one = "/integrations/{provider}"
	read, write := user.ScopeIntegrationsRead, user.ScopeIntegrationsWrite

	web.Register(api, web.Bound(operation(http.MethodGet, "/connectors", "list-connectors", "List connectors",
		"Every kind of provider that the company can configure: what it does, what its configuration and credentials look like, and its ports.", 200, read)), d.listConnectors)
	shown.Register(api, d.shown())
	d.registerOwn(api)
	d.registerEvents(api)
	web.Register(api, operation(http.MethodPost, one, "configure-integration", "Configure a connector",
		"Creates the integration (201) or reconfigures it (200). The body is checked against the provider's schema. A change to "+
			"what the certification covers, such as the url or the permissions, returns the integration to the sandbox.", 201, write), d.configureIntegration, d.configureOperation)
	web.Register(api, operation(http.MethodGet, one, "get-integration", "Get an integration",
		"With state, certification and health; never with a secret.", 200, read), d.getIntegration)
	web.Register(api, operation(http.MethodDelete, one, "delete-integration", "Delete an integration",
		"Destroys its credentials and signing secrets. Its deliveries can be read until they expire. None of them is sent any more, "+
			"neither there nor to another integration that gets this name.", 204, write), d.deleteIntegration)
	web.Register(api, operation(http.MethodPost, one+"/enable", "enable-integration", "Enable an integration",
		"Deliveries that were held while the integration was disabled can be recovered. A paused schedule begins again.", 200, write), d.enableIntegration)
	web.Register(api, operation(http.MethodPost, one+"/disable", "disable-integration", "Disable an integration",
		"The integration's deliveries are held, and its webhooks are refused.", 200, write), d.disableIntegration)

	web.Register(api, operation(http.MethodPut, one+"/credentials", "put-integration-credentials", "Store credentials",
		"Replaces all credentials. They are stored in the vault, and no operation returns them. The credentials of a webhook are its "+
			"secret headers. A provider that uses none answers 409.", 204, write), d.putCredentials)
	web.Register(api, operation(http.MethodDelete, one+"/credentials", "delete-integration-credentials", "Destroy credentials",
		"Requests that need credentials fail from now on.", 204, write), d.deleteCredentials)
	web.Register(api, operation(http.MethodPost, one+"/secret", "rotate-integration-secret", "Rotate the signing secret",
		"The new secret is shown once. The previous secret keeps signing and being accepted for 24 hours, or for graceSeconds.", 200, write), d.rotateSecret)

	d.registerConnect(api)
	d.registerMapping(api)

	web.Register(api, operation(http.MethodPost, one+"/test", "test-integration", "Send a signed sample event",
		"Sends it at once, even in the sandbox, without retries and without an entry in the attempt log.", 200, write), d.testIntegration)
	web.Register(api, web.Bound(operation(http.MethodGet, "/deliveries", "list-deliveries", "List the deliveries to all endpoints",
		"Lists the newest event first.", 200, read)), d.listAllDeliveries)
	web.Register(api, operation(http.MethodGet, one+"/deliveries", "list-integration-deliveries", "List deliveries",
		"Lists the newest event first.", 200, read), d.listDeliveries)
	web.Register(api, operation(http.MethodGet, one+"/deliveries/{deliveryId}", "get-integration-delivery", "Get a delivery with its attempts",
		"Includes the payload, byte for byte as it is sent.", 200, read), d.getDelivery)
	web.Register(api, operation(http.MethodPost, one+"/deliveries/{deliveryId}/retry", "retry-integration-delivery", "Retry a delivery now",
		"Works in every state of the delivery, unless its endpoint was deleted (409).", 202, write), d.retryDelivery)
	web.Register(api, operation(http.MethodPost, one+"/recover", "recover-integration", "Recover deliveries of a window of time",
		"Sends every failed, dead or held delivery of the window again, and every one whose attempt is more than 15 minutes overdue. While the "+
			"endpoint is paused, it includes the deliveries that wait for the end of the pause; resume-integration ends it.", 202, write), d.recoverIntegration)
	web.Register(api, operation(http.MethodPost, one+"/resume", "resume-integration", "End a pause of an endpoint",
		"An endpoint is paused after five failed attempts in a row, or when it asks for a wait with Retry-After. Ends that now, and sends the deliveries that wait "+
			"for it: after failures one attempt first, which decides. Without a pause, it sends what is due. A delivery of an event that is older than 7 days, which a person retried, "+
			"keeps the time of its next attempt.", 202, write), d.resumeIntegration)
	web.Register(api, operation(http.MethodGet, one+"/recoveries/{recoveryId}", "get-integration-recovery", "Get a recovery with its counts",
		"Counts what became of the deliveries that the recovery sent again. Recoveries are kept for 30 days.", 200, read), d.getRecovery)
}

// registerEvents adds the catalogue of events, and the preview of what an endpoint gets of them.
func (d Deps) registerEvents(api huma.API) {
	read, write := user.ScopeIntegrationsRead, user.ScopeIntegrationsWrite
	web.Register(api, web.Bound(operation(http.MethodGet, "/event-types", "list-event-types", "List the events",
		"Every event to which an endpoint can subscribe: when it is sent, what its payload looks like, and an example.", 200, read)), d.listEventTypes)
	web.Register(api, web.Bound(operation(http.MethodGet, "/event-types/{name}", "get-event-type", "Get an event",
		"With the JSON Schema of its payload and an example.", 200, read)), d.getEventType)
	web.Register(api, web.Unaudited(operation(http.MethodPost, "/integrations/{provider}/filter/preview", "preview-integration-filter", "Try a filter on recent events",
		"Shows what the filter and the transformation make of the latest events to which the endpoint subscribes: the verdict, the body and the work. It changes nothing.", 200, write),
		"a preview changes nothing"), d.previewFilter)
}

func (d Deps) registerCertification(api huma.API) {
	const one = "/integrations/{provider}"
	web.Register(api, operation(http.MethodPost, one+"/certification", "certify-integration", "Run the certification",
		"Checks that valid requests are accepted and invalid ones refused. If all checks pass, the integration is certified for 90 days.", 200, user.ScopeIntegrationsWrite), d.certifyIntegration)
	web.Register(api, operation(http.MethodGet, one+"/certification", "get-integration-certification", "Get the last certification report",
		"Answers 404 if no certification has been run.", 200, user.ScopeIntegrationsRead), d.getCertification)
	web.Register(api, web.Unaudited(operation(http.MethodPost, one+"/measure/preview", "preview-integration-measure", "Try a goal's number",
		"Reads a list of the provider and tells what value a goal would have that takes its number from there. It reads at most 20 pages, and changes nothing.", 200, user.ScopeIntegrationsWrite),
		"a preview changes nothing"), d.previewMeasure)
}

// registerMapping adds the operations that show what the provider's webhooks do, and change it.
func (d Deps) registerMapping(api huma.API) {
	const one = "/integrations/{provider}"
	read, write := user.ScopeIntegrationsRead, user.ScopeIntegrationsWrite
	web.Register(api, operation(http.MethodGet, one+"/mapping", "get-integration-mapping", "Get the mapping",
		"The rules that turn the provider's webhooks into actions: the company's, or else the provider's default.", 200, read), d.getMapping)
	web.Register(api, operation(http.MethodPut, one+"/mapping", "put-integration-mapping", "Store a mapping",
		"Replaces the mapping and its tests. Each expression is checked; a problem names its place, such as /rules/3/with/title, and what would be right. "+
			"Then the tests run; if one fails, the answer names each difference, and nothing is stored. "+
			"The integration stays certified: a mapping opens no port, and the policy engine decides on each action.", 200, write), d.putMapping)
	web.Register(api, operation(http.MethodDelete, one+"/mapping", "delete-integration-mapping", "Return to the default mapping",
		"Removes the company's mapping, if one is stored.", 204, write), d.deleteMapping)
	web.Register(api, web.Unaudited(operation(http.MethodPost, one+"/mapping/preview", "preview-integration-mapping", "Try a mapping on an arrival",
		"Shows which rules match, the actions that they give and the verdicts of the policy engine, and runs the mapping's tests. It changes nothing.", 200, write),
		"a preview changes nothing"), d.previewMapping)
	web.Register(api, operation(http.MethodGet, one+"/inbox", "list-integration-inbox", "List received arrivals",
		"The latest 20 arrivals that were received in the sandbox, newest first. They expire after 7 days.", 200, read), d.listInbox)
	web.Register(api, operation(http.MethodGet, one+"/inbox/{inboxId}", "get-integration-inbox", "Get a received arrival",
		"With headers, body, the actions that the mapping gave and their verdicts.", 200, read), d.getReceived)
}

func operation(method, path, id, summary, description string, status int, scope string) huma.Operation {
	return web.AuditedWrites(huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{companyId}" + path, Summary: summary, Description: description,
		DefaultStatus: status, Tags: []string{"integrations"}, Security: web.Needs(scope),
	})
}

// ProviderInput holds the path parameter of the operations that need only the provider's name.
type ProviderInput struct {
	Provider string `path:"provider" maxLength:"64" doc:"a kind of the catalogue such as github, or a kind and a name such as github-{name}" example:"webhook"`
}

// ChangeInput holds the parameters of a change, which a caller may bind to a version with If-Match. It is exported because
// huma ignores embedded types that are not exported.
type ChangeInput struct {
	ProviderInput
	web.IfMatch
}
