package provisioner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Event is what the function is invoked with: a Request, or the event of a CloudFormation custom resource as the CDK's
// provider framework hands it on (aws-cdk-lib/custom-resources.Provider, onEvent). The resource's properties are Name,
// Email and Plan.
type Event struct {
	Request
	RequestType string          `json:"RequestType"`
	PhysicalID  string          `json:"PhysicalResourceId"`
	Properties  json.RawMessage `json:"ResourceProperties"`
}

// Resource is what the framework takes. Its Data is the resource's attributes.
type Resource struct {
	PhysicalID string  `json:"PhysicalResourceId"`
	Data       *Answer `json:"Data,omitempty"`
}

// Invoke answers a Request with an Answer and a custom resource's event with a Resource. The resource is a company and is
// named by its id. A company outlives its stack: Delete does nothing, and a Create with the same properties finds it
// again. An Update may come again with the same properties; another address makes another company.
//
// No password goes through a custom resource, in either direction: the framework logs the events and the answers whole,
// whatever NoEcho says, and CloudFormation keeps properties. So the founder gets one from an operator.
func (p *Provisioner) Invoke(ctx context.Context, e Event) (any, error) {
	switch e.RequestType {
	case "":
		return p.Handle(ctx, e.Request)
	case "Delete":
		return Resource{PhysicalID: e.PhysicalID}, nil
	case "Create", "Update":
		return p.resource(ctx, e)
	}
	return nil, fmt.Errorf("RequestType %q is not one of a custom resource", e.RequestType)
}

// noPassword is the warning of a new company that is a resource.
const noPassword = "nobody knows the founder's password yet: `orgops admin user password` makes one"

func (p *Provisioner) resource(ctx context.Context, e Event) (any, error) {
	var r Request
	if err := json.Unmarshal(e.Properties, &r); err != nil {
		return nil, errors.New("ResourceProperties: Name, Email and Plan must be texts")
	}
	if r.Password != "" {
		return nil, errors.New("ResourceProperties: a Password would be logged and kept by CloudFormation; leave it out, and make one with `orgops admin user password`")
	}
	answer, err := p.Handle(ctx, r)
	if err != nil && e.RequestType == "Update" {
		return nil, fmt.Errorf("%w (a company keeps the name and the plan that it was made with)", err)
	}
	if err != nil {
		return nil, err
	}
	if answer.Password != "" && answer.Warning == "" {
		answer.Warning = noPassword
	}
	answer.Password = ""
	return Resource{PhysicalID: answer.CompanyID, Data: &answer}, nil
}
