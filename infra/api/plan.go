package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
	"orgops/infra/nag"
	"orgops/shared/identity/usagekey"
)

// plan creates a usage plan for each tier. A company has a usage key in its tier's plan, or shares the one key of a plan without
// limits at the gateway. The authorizer returns the key to the gateway; clients never send it.
func (a *API) plan(scope constructs.Construct) {
	a.Plans = map[string]awsapigateway.UsagePlan{}
	for _, name := range usagekey.Plans() {
		limits := usagekey.Tiers()[name]
		rate, burst, day := float64(limits.Rate), float64(limits.Burst), float64(limits.Day)
		props := &awsapigateway.UsagePlanProps{Description: jsii.String("Companies of plan " + name)}
		if usagekey.NeedsKey(name) {
			props.Throttle = &awsapigateway.ThrottleSettings{RateLimit: &rate, BurstLimit: &burst}
			props.Quota = &awsapigateway.QuotaSettings{Limit: &day, Period: awsapigateway.Period_DAY}
		}
		plan := awsapigateway.NewUsagePlan(scope, jsii.String("Plan-"+name), props)
		if !usagekey.NeedsKey(name) {
			key := awsapigateway.NewApiKey(scope, jsii.String("SharedKey"), &awsapigateway.ApiKeyProps{
				Description: jsii.String("Companies of plan " + name), Value: jsii.String(usagekey.Shared(*a.REST.RestApiId())),
			})
			plan.AddApiKey(key, nil)
		}
		plan.AddApiStage(&awsapigateway.UsagePlanPerApiStage{Api: a.REST, Stage: a.REST.DeploymentStage()})
		a.Plans[name] = plan
	}
}

// PlansVariable names the environment variable that holds PlanIDs.
const PlansVariable = "ORGOPS_USAGE_PLANS"

// PlanIDs returns the plans' ids as name=id,….
func (a *API) PlanIDs() string {
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(a.Plans)) {
		ids = append(ids, name+"="+*a.Plans[name].UsagePlanId())
	}
	return strings.Join(ids, ",")
}

// Withdraw lets a function delete companies' usage keys, and create them again. A key's id is known only when it is made, so the
// function may delete any key of the region. No condition on tags narrows that: a key with tags can be made only by a function that may
// set the tags of any resource of the gateway, which is more.
func (a *API) Withdraw(f *function.Function) {
	a.Enrol(f)
	keys := "arn:" + *a.REST.Stack().Partition() + ":apigateway:" + *a.REST.Stack().Region() + "::/apikeys/*"
	f.Allow([]string{"apigateway:DELETE"}, nil, keys)
	nag.Suppress(f.Role(), "AwsSolutions-IAM5", "A key's id is known only when the key is made", "Resource::arn:<AWS::Partition>:apigateway:<AWS::Region>::/apikeys/*")
}

// Enrol lets a function create companies' usage keys in these plans only.
func (a *API) Enrol(f *function.Function) {
	arn := "arn:" + *a.REST.Stack().Partition() + ":apigateway:" + *a.REST.Stack().Region() + "::"
	resources := []string{arn + "/apikeys"}
	for _, name := range slices.Sorted(maps.Keys(a.Plans)) {
		resources = append(resources, arn+"/usageplans/"+*a.Plans[name].UsagePlanId()+"/keys")
	}
	f.Set(PlansVariable, a.PlanIDs())
	f.Allow([]string{"apigateway:GET", "apigateway:POST"}, nil, resources...) // a repeated request reads the existing key
}
