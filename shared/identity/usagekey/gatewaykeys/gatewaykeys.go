// Package gatewaykeys gives companies their usage keys at API Gateway.
package gatewaykeys

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"orgops/shared/base/awsclient"
	"orgops/shared/identity/usagekey"
)

// tryTimeout bounds one try of a call.
const tryTimeout = 10 * time.Second

// Plans enrols companies in the usage plans of the gateway.
type Plans struct {
	client *apigateway.Client
	ids    map[string]string
}

// Open makes a Plans from the ids of the usage plans by name. It sends no request.
func Open(access awsclient.Access, ids map[string]string) *Plans {
	return &Plans{ids: ids, client: apigateway.New(apigateway.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("API_GATEWAY"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// Check returns an error for a plan without a usage plan at the gateway.
func (p *Plans) Check(plan string) error {
	if p.ids[plan] == "" {
		return fmt.Errorf("the gateway has no plan %q; it has %s", plan, strings.Join(slices.Sorted(maps.Keys(p.ids)), ", "))
	}
	return nil
}

// Enrol makes a company's key and puts it into the company's plan, unless the plan needs none. It is idempotent: it skips steps that
// are done.
func (p *Plans) Enrol(ctx context.Context, company, plan string) error {
	if err := p.Check(plan); err != nil || !usagekey.NeedsKey(plan) {
		return err
	}
	name := keyName(company, plan)
	id, err := p.key(ctx, name, usagekey.Of(company, plan))
	if err != nil {
		return fmt.Errorf("create the usage key: %w", err)
	}
	kind, planID := "API_KEY", p.ids[plan]
	_, err = p.client.CreateUsagePlanKey(ctx, &apigateway.CreateUsagePlanKeyInput{KeyId: &id, KeyType: &kind, UsagePlanId: &planID})
	var there *types.ConflictException // the key is in this plan or in another plan
	if errors.As(err, &there) && p.holds(ctx, planID, name, id) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put the usage key %s into the plan: %w", id, err)
	}
	return nil
}

// Withdraw deletes a company's key in a plan. Requests with tokens that name the plan are refused from then on. It has no effect
// without such a key.
func (p *Plans) Withdraw(ctx context.Context, company, plan string) error {
	id, err := p.find(ctx, keyName(company, plan), usagekey.Of(company, plan))
	if err != nil || id == "" {
		return err
	}
	_, err = p.client.DeleteApiKey(ctx, &apigateway.DeleteApiKeyInput{ApiKey: &id})
	var gone *types.NotFoundException
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("delete the usage key %s: %w", id, err)
	}
	return nil
}

// find returns the id of the key with this name and value, "" without one.
func (p *Plans) find(ctx context.Context, name, value string) (string, error) {
	found, err := p.client.GetApiKeys(ctx, &apigateway.GetApiKeysInput{NameQuery: &name, IncludeValues: aws.Bool(true)})
	if err != nil {
		return "", fmt.Errorf("look the usage key up: %w", err)
	}
	for _, k := range found.Items {
		if aws.ToString(k.Value) == value {
			return aws.ToString(k.Id), nil
		}
	}
	return "", nil
}

// keyName names a company's key in a plan, as the gateway's console shows it.
func keyName(company, plan string) string { return "company " + company + " " + plan }

// holds reports whether a plan has the key with this name and id. It reports false when the lookup returns an error.
func (p *Plans) holds(ctx context.Context, planID, name, id string) bool {
	found, err := p.client.GetUsagePlanKeys(ctx, &apigateway.GetUsagePlanKeysInput{UsagePlanId: &planID, NameQuery: &name})
	return err == nil && slices.ContainsFunc(found.Items, func(k types.UsagePlanKey) bool { return aws.ToString(k.Id) == id })
}

// key returns the id of the key with this value, and creates the key if it does not exist.
func (p *Plans) key(ctx context.Context, name, value string) (string, error) {
	made, err := p.client.CreateApiKey(ctx, &apigateway.CreateApiKeyInput{Name: &name, Value: &value, Enabled: true})
	if err == nil {
		return aws.ToString(made.Id), nil
	}
	var there *types.ConflictException
	if !errors.As(err, &there) {
		return "", err
	}
	id, lookup := p.find(ctx, name, value)
	if lookup != nil || id == "" {
		return "", errors.Join(err, lookup)
	}
	return id, nil
}
