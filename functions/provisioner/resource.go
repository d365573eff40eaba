package provisioner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Event is what the function is invoked with: a Request, or the event of a CloudFormation custom resource as the CDK's
// provider framework hands it on (aws-cdk-lib/custom-resources.Provider, onEvent). The resource's properties are a
// Request's members: Name, Email, Password, Plan.
type Event struct {
	Request
	RequestType string          `json:"RequestType"`
	PhysicalID  string          `json:"PhysicalResourceId"`
	Properties  json.RawMessage `json:"ResourceProperties"`
}

// Resource is what the framework takes. Its Data is the resource's attributes; NoEcho keeps them, as they may hold a
// password, out of CloudFormation's answers.
type Resource struct {
	PhysicalID string  `json:"PhysicalResourceId"`
	Data       *Answer `json:"Data,omitempty"`
	NoEcho     bool    `json:"NoEcho"`
}

// Invoke answers a Request with an Answer and a custom resource's event with a Resource. The resource is a company and is
// named by its id. A company outlives its stack: Delete does nothing. An Update may come again with the same properties;
// another address makes another company.
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

func (p *Provisioner) resource(ctx context.Context, e Event) (any, error) {
	var r Request
	if err := json.Unmarshal(e.Properties, &r); err != nil {
		return nil, errors.New("ResourceProperties: Name, Email, Password and Plan must be texts")
	}
	answer, err := p.Handle(ctx, r)
	if err != nil {
		return nil, err
	}
	return Resource{PhysicalID: answer.CompanyID, Data: &answer, NoEcho: true}, nil
}
