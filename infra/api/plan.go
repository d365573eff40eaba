package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"orgops/infra/function"
)

// tier is a plan's limits for one company: requests a second, requests at once, requests a day.
type tier struct{ rate, burst, day float64 }

func tiers() map[string]tier {
	return map[string]tier{
		"free":       {rate: 5, burst: 20, day: 20_000},
		"pro":        {rate: 50, burst: 200, day: 1_000_000},
		"enterprise": {rate: 500, burst: 1000, day: 20_000_000},
	}
}

// plan makes a usage plan a tier. A company has a key in the plan of its tier; the authorizer names it, and nobody ever
// sends it.
func (a *API) plan(scope constructs.Construct) {
	a.Plans = map[string]awsapigateway.UsagePlan{}
	for _, name := range slices.Sorted(maps.Keys(tiers())) {
		limits := tiers()[name]
		plan := awsapigateway.NewUsagePlan(scope, jsii.String("Plan-"+name), &awsapigateway.UsagePlanProps{
			Description: jsii.String("Companies of plan " + name),
			Throttle:    &awsapigateway.ThrottleSettings{RateLimit: &limits.rate, BurstLimit: &limits.burst},
			Quota:       &awsapigateway.QuotaSettings{Limit: &limits.day, Period: awsapigateway.Period_DAY},
		})
		plan.AddApiStage(&awsapigateway.UsagePlanPerApiStage{Api: a.REST, Stage: a.REST.DeploymentStage()})
		a.Plans[name] = plan
	}
}

// PlansVariable is that of PlanIDs.
const PlansVariable = "ORGOPS_USAGE_PLANS"

// PlanIDs is the plans' ids as name=id,….
func (a *API) PlanIDs() string {
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(a.Plans)) {
		ids = append(ids, name+"="+*a.Plans[name].UsagePlanId())
	}
	return strings.Join(ids, ",")
}

// Enrol lets a function give companies their keys, in these plans only.
func (a *API) Enrol(f *function.Function) {
	arn := "arn:" + *a.REST.Stack().Partition() + ":apigateway:" + *a.REST.Stack().Region() + "::"
	resources := []string{arn + "/apikeys"}
	for _, name := range slices.Sorted(maps.Keys(a.Plans)) {
		resources = append(resources, arn+"/usageplans/"+*a.Plans[name].UsagePlanId()+"/keys")
	}
	f.Set(PlansVariable, a.PlanIDs())
	f.Allow([]string{"apigateway:GET", "apigateway:POST"}, nil, resources...) // GET for what a request that is repeated meets
}
