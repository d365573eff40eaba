package importtest_test

import (
	"path"
	"slices"
	"strings"
)

// A layer is a set of packages and what they may import of this module. A pattern is a path of this module; a last
// segment /... takes in everything under it, and * stands for one segment.
type layer struct {
	name string
	in   []string
	may  []string // nil: nothing of this module
	why  string
}

// layers are looked at in order: the first that a package is in is its own.
var layers = []layer{
	{"fault", []string{"shared/fault"}, nil, "every package returns its errors, so it depends on none"},
	{"contracts", []string{"shared/store", "shared/queue"}, []string{"shared/fault", "shared/wait"}, "a contract knows no driver and no domain"},
	{"lambdas", []string{"functions/*/lambda"}, []string{"functions/*", "shared/..."}, "a Lambda is one function and the parts it needs"},
	{"list of groups", []string{"functions"}, []string{"functions/*", "shared/..."}, "the one place that knows every route group"},
	{"functions", []string{"functions/*"}, []string{"shared/..."}, "a function never imports another: they meet in the store"},
	{"shared", []string{"shared/..."}, []string{"shared/..."}, "what is shared does not know who shares it"},
	{"infra", []string{"infra/..."}, []string{"functions", "shared/...", "infra/..."}, "routes are derived from the registered operations"},
	{"local", []string{"local/..."}, []string{"functions/...", "shared/...", "local/..."}, "wires everything"},
}

// A home is the only place of a heavy or risky dependency.
type home struct {
	imports []string // import paths; a last segment /... as above
	in      []string
	why     string
}

var homes = []home{
	{[]string{"github.com/golang-jwt/..."}, []string{"shared/token"}, "one place decides which tokens are good"},
	{[]string{"zombiezen.com/go/sqlite/...", "modernc.org/..."},
		[]string{"shared/sqlitedb", "shared/store/sqlitestore", "shared/queue/sqlitequeue"}, "no Lambda links SQLite"},
	{[]string{"github.com/danielgtaylor/huma/..."},
		[]string{"shared/web", "functions", "functions/*", "shared/webtest"}, "the web layer and the route groups; webtest walks their operations"},
	{[]string{"github.com/go-chi/chi/..."}, []string{"shared/web"}, "one router"},
	{[]string{"code.dny.dev/ssrf"}, []string{"shared/outbound"}, "one dialer decides which addresses may be called"},
	{[]string{"golang.org/x/crypto/..."}, []string{"shared/password"}, "password hashing"},
	{[]string{"github.com/santhosh-tekuri/jsonschema/..."}, []string{"shared/metric/metrictest"},
		"its start takes milliseconds, so it is for tests: they hold what is written and what is refused to the standard"},
	{[]string{"github.com/mmcdole/gofeed/...", "golang.org/x/net/html/..."}, []string{"shared/connector/feed"}, "feeds are parsed by their connector"},
	{[]string{"github.com/swaggest/..."}, []string{"local/docs"}, "the documentation pages are for the local run"},
	{[]string{"github.com/lmittmann/tint", "golang.org/x/term"}, []string{"local"}, "a terminal is in front of the local run only"},
	{[]string{"github.com/cedar-policy/..."}, []string{"shared/policy"}, "one policy engine"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/dynamodb/..."}, []string{"shared/store/dynamostore"}, "a driver's client"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/..."}, []string{"shared/store/dynamostream"}, "a driver's client"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/sqs/..."}, []string{"shared/queue/sqsqueue"}, "a driver's client"},
	{[]string{"github.com/aws/aws-sdk-go-v2/config/..."}, nil, "loading files and profiles costs each cold start milliseconds: see awsclient"},
	{[]string{"github.com/aws/aws-sdk-go-v2/aws/...", "github.com/aws/smithy-go/..."},
		[]string{"shared/awsclient", "shared/store/dynamostore", "shared/store/dynamostream", "shared/queue/sqsqueue", "shared/vault/...", "shared/token/...", "shared/boot/cloud/...", "functions/*/lambda", "shared/awstest", "shared/usagekey/gatewaykeys"},
		"domain packages know nothing of AWS"},
	{[]string{"github.com/tink-crypto/...", "github.com/aws/aws-sdk-go-v2/service/kms/..."}, []string{"shared/vault/kmsvault", "shared/awstest"}, "keys are wrapped in one place"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/secretsmanager/..."}, []string{"shared/token/tokensecret", "shared/awstest"}, "the one secret is that of the token keys"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/apigateway/..."}, []string{"shared/usagekey/gatewaykeys", "shared/awstest"}, "companies' usage keys are given in one place"},
	{[]string{"github.com/aws/aws-cdk-go/...", "github.com/aws/constructs-go/...", "github.com/aws/jsii-runtime-go/...", "github.com/cdklabs/..."},
		[]string{"infra/..."}, "infrastructure is no part of the service"},
	{[]string{"github.com/aws/aws-lambda-go/...", "github.com/awslabs/..."},
		[]string{"functions/*/lambda", "shared/lambda/...", "shared/boot/cloud/group", "shared/lambdatest/..."}, "a group does not know that it runs in a Lambda"},

	{[]string{"orgops/shared/sqlitedb", "orgops/shared/store/sqlitestore", "orgops/shared/queue/sqlitequeue"},
		[]string{"local/...", "shared/store/sqlitestore", "shared/queue/sqlitequeue", "shared/webtest", "shared/worktest"},
		"drivers are chosen where the process is put together; webtest and worktest run groups and workers on real ones"},

	{[]string{"orgops/shared/store/dynamostore", "orgops/shared/queue/sqsqueue"},
		[]string{"local/...", "functions/*/lambda", "shared/boot/cloud/...", "shared/lambda/...", "shared/store/dynamostream"},
		"drivers are chosen where the process is put together"},
	{[]string{"orgops/shared/store/dynamostream"}, []string{"local/..."}, "a Lambda is handed the stream's records, and links no client of it"},

	{[]string{"net/http", "net/http/..."}, []string{
		"shared/web", "functions/*", "local/...", "infra/...", // serve, or make routes
		"shared/outbound",                                  // calls, under one set of rules
		"shared/webhook",                                   // signs, verifies and sends requests: HTTP is its subject
		"shared/connector",                                 // its ports carry a delivery's headers, which a signature covers
		"shared/connector/feed",                            // fetches
		"shared/connector/github",                          // signs and verifies deliveries
		"shared/connector/webhook",                         // as above
		"shared/certify",                                   // proves how an endpoint answers
		"shared/webtest",                                   // is a client
		"shared/awstest",                                   // stands between a client and its service
		"shared/worktest",                                  // is a subscriber
		"shared/awsclient",                                 // makes the HTTP client of the cloud's drivers
		"shared/store/dynamostore",                         // a driver whose service speaks HTTP
		"shared/lambda/gateway", "shared/boot/cloud/group", // serve, as Lambdas
		"shared/lambdatest", // is the Lambda runtime, which speaks HTTP
	}, "domain packages know nothing of HTTP"},
	{[]string{"math/rand", "math/rand/v2"}, []string{
		"shared/courier",           // jitter of retries
		"shared/queue/sqlitequeue", // jitter of polling
		"shared/awsclient",         // jitter of retries
		"local/bench",              // load
	}, "what must not be guessed comes from crypto/rand"},
	{[]string{"os"}, []string{
		"local/...", "infra/...", "shared/config", // the processes
		"shared/sqlitedb", "shared/keyfile", // files of the embedded backend
		"shared/filetail",   // reads logs
		"shared/boot/cloud", // the process in AWS
		"shared/awstest",    // starts what stands in for AWS
		"shared/lambdatest", // starts functions
	}, "files and the environment belong to the process and its drivers"},
	{[]string{"log"}, nil, "logging is log/slog"},
	{[]string{"unsafe", "C"}, nil, "nothing here needs it"},
}

// testOnly are packages that only tests import, besides those whose names end in test.
var testOnly = []string{"testing/...", "net/http/httptest", "github.com/google/go-cmp/..."}

// matches reports whether a package is in a pattern.
func matches(pattern, pkg string) bool {
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == parent || strings.HasPrefix(pkg, parent+"/")
	}
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}

func among(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, pkg) })
}
