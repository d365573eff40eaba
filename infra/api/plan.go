package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
	"orgops/shared/identity/usagekey"
)

// plan creates a usage plan for each tier. A company has a usage key in its tier's plan. The authorizer returns the key to
// the gateway; clients never send it.
func (a *API) plan(scope constructs.Construct) {
	a.Plans = map[string]awsapigateway.UsagePlan{}
	for _, name := range usagekey.Plans() {
		limits := usagekey.Tiers()[name]
		rate, burst, day := float64(limits.Rate), float64(limits.Burst), float64(limits.Day)
		plan := awsapigateway.NewUsagePlan(scope, jsii.String("Plan-"+name), &awsapigateway.UsagePlanProps{
			Description: jsii.String("Companies of plan " + name),
			Throttle:    &awsapigateway.ThrottleSettings{RateLimit: &rate, BurstLimit: &burst},
			Quota:       &awsapigateway.QuotaSettings{Limit: &day, Period: awsapigateway.Period_DAY},
		})
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
