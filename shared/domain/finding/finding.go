// Package finding holds what every check of the service reports with its outcome: the facts behind it and the operation
// that fixes it. Checks of health, of readiness and of a certification share it.
package finding

import (
	"time"
)

// Evidence states one fact.
type Evidence struct {
	Name  string    `json:"name" doc:"what the fact is" example:"oldest waiting delivery"`
	Value float64   `json:"value" doc:"the fact" example:"12"`
	Unit  string    `json:"unit,omitempty" doc:"what the value counts" example:"minutes"`
	At    time.Time `json:"at,omitzero" doc:"the time that the fact is about"`
	Href  string    `json:"href,omitempty" doc:"where the API shows it" format:"uri-reference"`
}

// Remedy names an operation of this API.
type Remedy struct {
	Operation string `json:"operation" doc:"its operation id" example:"certify-integration"`
	Method    string `json:"method" doc:"HTTP method" example:"POST"`
	Href      string `json:"href" doc:"path of the call" example:"/companies/0198c5f2-0000-7000-8000-000000000000/integrations/webhook/certification" format:"uri-reference"`
}

// Call returns an operation on an integration or on the company's policies, with a path that begins with path, the company's
// path. An operation that it does not know becomes get-integration.
func Call(operation, path, provider string) Remedy {
	integration := path + "/integrations/" + provider
	r := Remedy{Operation: operation, Method: "POST"}
	switch operation {
	case "sync-memory":
		r.Href = path + "/memory/sync/" + provider
	case "configure-integration":
		r.Href = integration
	case "certify-integration":
		r.Href = integration + "/certification"
	case "enable-integration":
		r.Href = integration + "/enable"
	case "rotate-integration-secret":
		r.Href = integration + "/secret"
	case "test-integration":
		r.Href = integration + "/test"
	case "recover-integration":
		r.Href = integration + "/recover"
	case "put-integration-credentials":
		r.Method, r.Href = "PUT", integration+"/credentials"
	case "delete-integration-credentials":
		r.Method, r.Href = "DELETE", integration+"/credentials"
	case "list-integration-deliveries":
		r.Method, r.Href = "GET", integration+"/deliveries"
	case "put-policies":
		r.Method, r.Href = "PUT", path+"/operations/policies"
	default:
		r.Operation, r.Method, r.Href = "get-integration", "GET", integration
	}
	return r
}
