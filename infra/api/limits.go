package api

import (
	"net/http"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"
)

// methodLimits returns the throttles of every guarded method, of logins, of accepted invitations, of the ends of sign-ins and of
// webhooks. All other methods are open to
// anyone and have the stage's lower throttle: the ANY method of each path, which answers OPTIONS and 405, and the public GET
// methods. An anonymous flood of them therefore leaves the company's operations alone. The gateway lists an ANY method by its
// single methods, so settings of ANY itself might not apply. A method's settings replace all of the stage's.
//
// A login takes about 50 ms of a processor for the password's hash. Tokens last an hour, so 50 logins a second serve 180,000
// active users and need about five functions. During a flood of logins no new login succeeds, but users who are logged in can
// continue. A delivery with a bad signature costs about 20 ms and two reads; 300 a second are a million an hour.
func methodLimits(groups []Group) *map[string]*awsapigateway.MethodDeploymentOptions {
	limits := map[string]*awsapigateway.MethodDeploymentOptions{
		"/auth/login/POST":                     limit(50, 100),
		"/auth/invitation/POST":                limit(50, 100),
		"/auth/token/POST":                     limit(50, 100),
		"/auth/sso/callback/GET":               limit(50, 100),
		"/auth/saml/{companyId}/acs/POST":      limit(50, 100),
		"/inbound/{companyId}/{provider}/POST": limit(300, 600),
	}
	for _, g := range groups {
		for _, r := range g.Routes {
			if !r.Guarded {
				continue
			}
			limits[r.Path+"/"+r.Method] = limit(1000, 2000)
			if r.Method == http.MethodGet {
				limits[r.Path+"/"+http.MethodHead] = limit(1000, 2000)
			}
		}
	}
	return &limits
}

func limit(rate, burst float64) *awsapigateway.MethodDeploymentOptions {
	return &awsapigateway.MethodDeploymentOptions{
		ThrottlingRateLimit: &rate, ThrottlingBurstLimit: &burst,
		MetricsEnabled: jsii.Bool(false), LoggingLevel: awsapigateway.MethodLoggingLevel_ERROR, DataTraceEnabled: jsii.Bool(false),
	}
}
