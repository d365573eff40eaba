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

	"github.com/aws/aws-sdk-go-v2/service/apigateway"

	"orgops/shared/awsclient"
	"orgops/shared/usagekey"
)

// tryTimeout bounds one try.
const tryTimeout = 10 * time.Second

// Plans is the usage plans of the gateway.
type Plans struct {
	client *apigateway.Client
	ids    map[string]string
}

// Open takes the plans' ids by the plans' names. It calls nobody.
func Open(access awsclient.Access, ids map[string]string) *Plans {
	return &Plans{ids: ids, client: apigateway.New(apigateway.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("API_GATEWAY"),
		Retryer: awsclient.NewRetryer(nil), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})}
}

// Check is an error for a plan that the gateway has no usage plan for.
func (p *Plans) Check(plan string) error {
	if p.ids[plan] == "" {
		return fmt.Errorf("the gateway has no plan %q; it has %s", plan, strings.Join(slices.Sorted(maps.Keys(p.ids)), ", "))
	}
	return nil
}

// Enrol makes a company's key and puts it into its plan.
func (p *Plans) Enrol(ctx context.Context, company, plan string) error {
	if err := p.Check(plan); err != nil {
		return err
	}
	name, value, kind, planID := "company "+company, usagekey.Of(company), "API_KEY", p.ids[plan]
	key, err := p.client.CreateApiKey(ctx, &apigateway.CreateApiKeyInput{Name: &name, Value: &value, Enabled: true})
	if err != nil {
		return fmt.Errorf("create the usage key: %w", err)
	}
	if key.Id == nil {
		return errors.New("create the usage key: the gateway gave no id")
	}
	_, err = p.client.CreateUsagePlanKey(ctx, &apigateway.CreateUsagePlanKeyInput{KeyId: key.Id, KeyType: &kind, UsagePlanId: &planID})
	if err != nil {
		return fmt.Errorf("put the usage key %s into the plan: %w", *key.Id, err)
	}
	return nil
}
