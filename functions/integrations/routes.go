// Package integrations is the route group of a company's connectors: configured, certified, watched and recovered.
package integrations

import (
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/certify"
	"orgops/shared/connector"
	"orgops/shared/courier"
	"orgops/shared/integration"
	"orgops/shared/user"
	"orgops/shared/web"
)

// Deps is what the group works with.
type Deps struct {
	Connectors connector.Registry
	Examiner   certify.Examiner
	Courier    *courier.Courier
	Vault      integration.Vault
	Now        func() time.Time
}

// Register mounts the group.
func Register(api huma.API, d Deps) {
	const one = "/integrations/{provider}"
	read, write := user.ScopeIntegrationsRead, user.ScopeIntegrationsWrite

	web.Register(api, operation(http.MethodGet, "/integrations", "list-integrations", "List integrations",
		"With state, certification and health; never with a secret.", 200, read), d.listIntegrations)
	web.Register(api, operation(http.MethodPost, one, "configure-integration", "Configure a connector",
		"Creates the integration (201) or reconfigures it (200). The body is checked against the provider's schema. What a certification "+
			"was about (the url, the permissions) returns it to the sandbox when it changes.", 201, write), d.configureIntegration, d.configureOperation)
	web.Register(api, operation(http.MethodGet, one, "get-integration", "Get an integration",
		"With state, certification and health; never with a secret.", 200, read), d.getIntegration)
	web.Register(api, operation(http.MethodDelete, one, "delete-integration", "Delete an integration",
		"Destroys its credentials and signing secrets. The attempt log stays until it expires.", 204, write), d.deleteIntegration)
	web.Register(api, operation(http.MethodPost, one+"/enable", "enable-integration", "Enable an integration",
		"What was held meanwhile can be recovered.", 200, write), d.enableIntegration)
	web.Register(api, operation(http.MethodPost, one+"/disable", "disable-integration", "Disable an integration",
		"Deliveries to it are held, deliveries from it are refused.", 200, write), d.disableIntegration)

	web.Register(api, operation(http.MethodPut, one+"/credentials", "put-integration-credentials", "Store credentials",
		"Replaces all of them. They go into the vault; nothing ever reads them back.", 204, write), d.putCredentials)
	web.Register(api, operation(http.MethodDelete, one+"/credentials", "delete-integration-credentials", "Destroy credentials",
		"What the connector did with them fails from now on.", 204, write), d.deleteCredentials)
	web.Register(api, operation(http.MethodPost, one+"/secret", "rotate-integration-secret", "Rotate the signing secret",
		"The new secret is shown once. The one before signs, and is accepted, beside it for 24 hours.", 200, write), d.rotateSecret)

	web.Register(api, operation(http.MethodPost, one+"/certification", "certify-integration", "Run the certification",
		"Proves that what is right gets through and what is wrong does not. All pass: certified for 90 days.", 200, write), d.certifyIntegration)
	web.Register(api, operation(http.MethodGet, one+"/certification", "get-integration-certification", "Get the last certification report",
		"404 where none has been run.", 200, read), d.getCertification)

	web.Register(api, operation(http.MethodPost, one+"/test", "test-integration", "Send a signed sample event",
		"At once, sandboxed or not, without retry and outside the attempt log.", 200, write), d.testIntegration)
	web.Register(api, operation(http.MethodGet, one+"/deliveries", "list-integration-deliveries", "List deliveries",
		"Newest event first.", 200, read), d.listDeliveries)
	web.Register(api, operation(http.MethodGet, one+"/deliveries/{did}", "get-integration-delivery", "Get a delivery with its attempts",
		"And with the payload, byte for byte as it is sent.", 200, read), d.getDelivery)
	web.Register(api, operation(http.MethodPost, one+"/deliveries/{did}/retry", "retry-integration-delivery", "Retry a delivery now",
		"Whatever its state.", 202, write), d.retryDelivery)
	web.Register(api, operation(http.MethodPost, one+"/recover", "recover-integration", "Recover deliveries of a window of time",
		"Every failed, dead or held delivery of the window is sent again.", 202, write), d.recoverIntegration)
}

func operation(method, path, id, summary, description string, status int, scope string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: "/companies/{id}" + path, Summary: summary, Description: description,
		DefaultStatus: status, Tags: []string{"integrations"}, Security: web.Needs(scope),
	}
}

// ProviderInput is the input of the operations that need the provider's name alone.
type ProviderInput struct {
	Provider string `path:"provider" maxLength:"64" doc:"webhook, webhook-{name}, github or feed" example:"webhook"`
}
