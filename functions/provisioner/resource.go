package provisioner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Event holds either a Request or the event of a CloudFormation custom resource, as the CDK's provider framework passes it
// on (aws-cdk-lib/custom-resources.Provider, onEvent). The resource's properties are Name, Email and Plan.
type Event struct {
	Request
	RequestType string          `json:"RequestType"`
	PhysicalID  string          `json:"PhysicalResourceId"`
	Properties  json.RawMessage `json:"ResourceProperties"`
}

// Resource holds what the framework expects. Its Data becomes the resource's attributes.
type Resource struct {
	PhysicalID string  `json:"PhysicalResourceId"`
	Data       *Answer `json:"Data,omitempty"`
}

// Invoke answers a Request with an Answer, and a custom resource's event with a Resource. The resource represents a
// company, and its physical id is the company's id. A company outlives its stack: Delete does nothing, and a Create with
// the same properties finds the company again. A repeated Update is idempotent; an Update with another address creates
// another company.
//
// No password passes through a custom resource, in either direction: the framework logs events and answers in full, even
// with NoEcho, and CloudFormation stores properties. An operator sets the founder's password instead.
func (p *Provisioner) Invoke(ctx context.Context, e Event) (any, error) {
	switch e.RequestType {
	case "":
		answer, err := p.Administer(ctx, e.Request)
		return answer, fault.Explain(err, "")
	case "Delete":
		return Resource{PhysicalID: e.PhysicalID}, nil
	case "Create", "Update":
		return p.resource(ctx, e)
	}
	return nil, fmt.Errorf("unknown RequestType %q; want Create, Update or Delete", e.RequestType)
}

// noPassword warns that the founder of a company from a custom resource cannot log in yet.
const noPassword = "the founder has no known password yet; set one with `orgops admin user password`"

// renames reports whether a request asks for another name of the resource's company, whose user has the address of the request.
func (p *Provisioner) renames(ctx context.Context, companyID string, r Request) bool {
	is, _, err := company.Get(ctx, store.For(p.Store, companyID))
	if err != nil || is.Name == r.Name {
		return false
	}
	_, err = company.LoginOf(ctx, p.Store, companyID, user.User{Email: r.Email})
	return err == nil
}

func (p *Provisioner) resource(ctx context.Context, e Event) (any, error) {
	var r Request
	if err := json.Unmarshal(e.Properties, &r); err != nil {
		return nil, errors.New("ResourceProperties: Name, Email and Plan must be strings")
	}
	if r.Password != "" {
		return nil, errors.New("ResourceProperties: CloudFormation would log and store a Password; leave it out, and set one with `orgops admin user password`")
	}
	if e.RequestType == "Update" && p.renames(ctx, e.PhysicalID, r) {
		return nil, errors.New("a company keeps the name and the plan that it was created with")
	}
	answer, err := p.Handle(ctx, r)
	if err != nil && e.RequestType == "Update" {
		return nil, fmt.Errorf("%w (a company keeps the name and the plan that it was created with)", err)
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
