package importtest_test

import (
	"path"
	"slices"
	"strings"
)

// layer describes packages that may import less of this module than their group may. A pattern is a path in this module; a
// last segment /... includes everything under it, and * matches one segment.
type layer struct {
	name string
	in   []string
	may  []string // nil: nothing of this module
	why  string
}

// layers lists the layers in order. The first that contains a package applies to it. A package may also import what lies in its own folder.
var layers = []layer{
	{"fault", []string{"shared/base/fault"}, nil, "every package returns its errors, so it must not depend on any"},
	{"contracts", []string{"shared/storage/store", "shared/storage/queue"}, []string{"shared/base/fastjson", "shared/base/fault", "shared/base/id", "shared/base/wait"}, "a contract knows no driver and no domain"},
	{"lambdas", []string{"functions/*/lambda"}, []string{"functions/*", "functions/*/*", "shared/..."}, "a Lambda is one function and the parts it needs"},
	{"list of groups", []string{"functions"}, []string{"functions/*", "shared/..."}, "the one place that knows every route group"},
	{"functions", []string{"functions/*", "functions/*/*"}, []string{
		"shared/base/...", "shared/storage/...", "shared/identity/...", "shared/domain/...", "shared/web/...", "shared/insight/...",
		"shared/webhook/...", "shared/provider/...", "shared/run/boot",
	}, "functions share data through the store and never import each other; they know only the parts that run them"},
}

// home lists the only packages that may import a heavy or risky dependency.
type home struct {
	imports []string // import paths; a last segment /... as above
	in      []string
	why     string
}

var homes = []home{
	{[]string{"github.com/golang-jwt/..."}, []string{"shared/identity/token"}, "one place decides which tokens are valid"},
	{[]string{"github.com/go-webauthn/..."}, []string{"shared/identity/passkey"}, "one place decides which passkeys are valid; only the function that logs people in links it, 1.9 MB"},
	{[]string{"github.com/go-jose/..."}, []string{"shared/identity/assertion"}, "one place decides which assertions prove a client"},
	{[]string{"zombiezen.com/go/sqlite/...", "modernc.org/..."},
		[]string{"shared/storage/sqlitedb", "shared/storage/store/sqlitestore", "shared/storage/queue/sqlitequeue"}, "no Lambda links SQLite"},
	{[]string{"github.com/danielgtaylor/huma/..."},
		[]string{"shared/web", "functions", "functions/*", "functions/*/*", "shared/run/lambda/group", "shared/testkit/webtest"}, "the web layer and the route groups; webtest walks their operations"},
	{[]string{"github.com/modelcontextprotocol/..."}, []string{"functions/mcp"}, "one endpoint speaks the protocol"},
	{[]string{"github.com/go-chi/chi/..."}, []string{"shared/web"}, "one router"},
	{[]string{"code.dny.dev/ssrf"}, []string{"shared/webhook/outbound"}, "one dialer decides which addresses may be called"},
	{[]string{"golang.org/x/crypto/argon2/...", "golang.org/x/crypto/bcrypt/...", "golang.org/x/crypto/scrypt/..."}, []string{"shared/identity/password"}, "password hashing"},
	{[]string{"golang.org/x/crypto/x509roots/..."}, []string{"local"}, "only the image's program may lack the system's certificate authorities"},
	{[]string{"github.com/santhosh-tekuri/jsonschema/..."}, []string{"shared/testkit/metrictest"},
		"its start takes milliseconds, so only tests use it, to check documents against their schema"},
	{[]string{"github.com/jackc/..."}, []string{"shared/provider/postgresql/pgclient", "shared/testkit/postgrestest"}, "one client of PostgreSQL"},
	{[]string{"orgops/shared/provider/postgresql/pgclient"}, []string{"shared/provider/catalog/fetching"}, "a program that fetches from no database links no protocol of one"},
	{[]string{"orgops/shared/provider/catalog/fetching"}, []string{"functions/syncer/lambda", "functions/inbound/lambda", "local/process"},
		"the programs that sync and certify"},
	{[]string{"encoding/xml"}, []string{"shared/provider/webfeed", "shared/identity/samllogin", "shared/testkit/ssotest"}, "feeds are parsed by their connector, within limits; SAML is XML"},
	{[]string{"golang.org/x/text/encoding/..."}, []string{"shared/provider/webfeed"}, "feeds come in any charset"},
	{[]string{"github.com/coreos/go-oidc/..."}, []string{"shared/identity/oidclogin"}, "one place decides whom an OpenID provider proves"},
	{[]string{"golang.org/x/oauth2/..."}, []string{"shared/identity/oidclogin", "shared/identity/authcode"}, "sign-ins; access to what a user has elsewhere"},
	{[]string{"github.com/crewjam/...", "github.com/beevik/...", "github.com/russellhaering/..."},
		[]string{"shared/identity/samllogin", "shared/testkit/ssotest"}, "one place decides whom a SAML provider proves; the tests have a provider"},
	{[]string{"github.com/itchyny/..."}, []string{"shared/provider/mapping"}, "one place bounds what an expression may do"},
	{[]string{"github.com/evanw/..."}, []string{"functions/console"}, "only the test that bundles the console's script imports it"},
	{[]string{"github.com/swaggest/..."}, []string{"local/process/docs"}, "the documentation pages are for the local run"},
	{[]string{"github.com/lmittmann/tint", "golang.org/x/term"}, []string{"local"}, "only the local run has a terminal"},
	{[]string{"github.com/cedar-policy/..."}, []string{"shared/provider/policyengine", "shared/provider/policyengine/policycheck"}, "one policy engine"},
	{[]string{"github.com/go-json-experiment/..."}, []string{"shared/provider/policyengine", "shared/base/fastjson"}, "two uses, each named below"},
	{[]string{"github.com/go-json-experiment/json/jsontext"}, []string{"shared/provider/policyengine", "shared/base/fastjson"}, "canonical JSON is what an approval is bound to; stored items are read in part"},
	{[]string{"github.com/go-json-experiment/json/v1", "github.com/go-json-experiment/json"}, []string{"shared/base/fastjson"}, "it is compared with encoding/json there"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/dynamodb/..."}, []string{"shared/storage/store/dynamostore"}, "a driver's client"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/..."}, []string{"shared/storage/store/dynamostream"}, "a driver's client"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/sqs/..."}, []string{"shared/storage/queue/sqsqueue"}, "a driver's client"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/sesv2/..."}, []string{"shared/storage/mail/sesmail"}, "a driver's client"},
	{[]string{"github.com/wneessen/..."}, []string{"shared/storage/mail/..."}, "mails are written and sent in one place"},
	{[]string{"github.com/aws/aws-sdk-go-v2/config/..."}, nil, "loading files and profiles costs each cold start milliseconds: see awsclient"},
	{[]string{"github.com/aws/aws-sdk-go-v2/aws/...", "github.com/aws/smithy-go/..."},
		[]string{"shared/base/awsclient", "shared/storage/store/dynamostore", "shared/storage/store/dynamostream", "shared/storage/queue/sqsqueue", "shared/storage/mail/sesmail", "shared/storage/vault/...", "shared/identity/token/...", "shared/run/cloud/...", "functions/*/lambda", "shared/testkit/awstest", "shared/identity/usagekey/gatewaykeys", "local/process/preflight", "local/command/account"},
		"domain packages know nothing of AWS"},
	{[]string{"github.com/tink-crypto/...", "github.com/aws/aws-sdk-go-v2/service/kms/..."}, []string{"shared/storage/vault/kmsvault", "shared/testkit/awstest"}, "keys are wrapped in one place"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/secretsmanager/..."}, []string{"shared/identity/token/tokensecret", "shared/testkit/awstest"}, "the token keys are the only secret"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/apigateway/..."}, []string{"shared/identity/usagekey/gatewaykeys", "shared/testkit/awstest", "local/command/account"}, "companies' usage keys are made in one place, and counted before a deployment"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/...", "github.com/aws/aws-sdk-go-v2/service/cloudformation/...", "github.com/aws/aws-sdk-go-v2/service/servicequotas/..."},
		[]string{"local/command/account"}, "the account is read before a deployment, and never by the service"},
	{[]string{"github.com/aws/aws-sdk-go-v2/service/lambda/..."}, []string{"local/command/account", "shared/run/lambda/itself"}, "a function calls no other function"},
	{[]string{"github.com/aws/aws-cdk-go/...", "github.com/aws/constructs-go/...", "github.com/aws/jsii-runtime-go/...", "github.com/cdklabs/..."},
		[]string{"infra/..."}, "infrastructure is not part of the service"},
	{[]string{"github.com/aws/aws-lambda-go/...", "github.com/awslabs/..."},
		[]string{"functions/*/lambda", "shared/run/lambda/...", "shared/run/lambda/group", "shared/testkit/lambdatest/..."}, "a group does not know that it runs in a Lambda"},

	{[]string{"orgops/shared/storage/sqlitedb", "orgops/shared/storage/store/sqlitestore", "orgops/shared/storage/queue/sqlitequeue"},
		[]string{"local/...", "shared/storage/store/sqlitestore", "shared/storage/queue/sqlitequeue", "shared/testkit/webtest", "shared/testkit/worktest"},
		"drivers are chosen where the process is composed; webtest and worktest run groups and workers on real ones"},

	{[]string{"orgops/shared/storage/store/dynamostore", "orgops/shared/storage/queue/sqsqueue"},
		[]string{"local/...", "functions/*/lambda", "shared/run/cloud/...", "shared/run/lambda/...", "shared/storage/store/dynamostream"},
		"drivers are chosen where the process is composed"},
	{[]string{"orgops/shared/storage/mail/smtpmail", "orgops/shared/storage/mail/sesmail"}, []string{"local/...", "shared/run/cloud/..."}, "drivers are chosen where the process is composed"},
	{[]string{"orgops/shared/storage/store/dynamostream"}, []string{"local/..."}, "a Lambda receives the stream's records and links no stream client"},

	{[]string{"net/http", "net/http/..."}, []string{
		"shared/web", "functions/*", "functions/*/*", "local/...", "infra/...", // serve, or make routes
		"shared/webhook/outbound",                                                                                  // sends requests under the egress rules
		"shared/webhook/standardwebhooks", "shared/webhook/courier", "shared/webhook/post", "shared/webhook/slack", // signs, verifies and sends requests: HTTP is its subject
		"shared/provider/connector",                        // its ports carry an arrival's headers, which a signature covers
		"shared/provider/mapping", "shared/provider/trial", // reads an arrival's headers
		"shared/provider/webfeed", "shared/provider/manifest", "shared/provider/rehearsal", // fetch
		"shared/provider/github",                          // fetches; signs and verifies deliveries
		"shared/provider/genericwebhook",                  // as above
		"shared/provider/scheme", "shared/provider/shelf", // read the headers of what providers send
		"shared/provider/connect",                                                            // asks GitHub for an app's tokens
		"shared/testkit/oauthtest",                                                           // serves an authorization server
		"shared/provider/certify",                                                            // proves how an endpoint answers
		"shared/testkit/webtest",                                                             // is a client
		"shared/testkit/awstest",                                                             // proxies a service's client
		"shared/testkit/worktest",                                                            // receives webhooks
		"shared/testkit/slacktest", "shared/testkit/githubtest", "shared/testkit/lineartest", // serve the providers' APIs
		"shared/identity/oidclogin", "shared/identity/authcode", // the libraries of OpenID Connect and OAuth take an HTTP client
		"shared/testkit/ssotest",                               // serves identity providers
		"shared/base/awsclient",                                // makes the HTTP client of the cloud's drivers
		"shared/storage/store/dynamostore",                     // a driver whose service speaks HTTP
		"shared/run/lambda/gateway", "shared/run/lambda/group", // serve, as Lambdas
		"shared/testkit/lambdatest", // is the Lambda runtime, which speaks HTTP
	}, "domain packages know nothing of HTTP"},
	{[]string{"math/rand", "math/rand/v2"}, []string{
		"shared/webhook/courier",           // jitter of retries
		"shared/storage/queue/sqlitequeue", // jitter of polling
		"functions/projector",              // jitter of retries
		"shared/base/awsclient",            // jitter of retries
		"local/measure/bench",              // load
	}, "values that must not be guessable come from crypto/rand"},
	{[]string{"os"}, []string{
		"local/...", "infra/...", "shared/run/config", // the processes
		"shared/storage/sqlitedb", "shared/base/keyfile", // files of the embedded backend
		"shared/base/filetail",        // reads logs
		"shared/run/cloud",            // the process in AWS
		"shared/testkit/awstest",      // starts emulators of AWS
		"shared/testkit/postgrestest", // starts a database server
		"shared/testkit/lambdatest",   // starts functions
		"shared/testkit/programtest",  // builds programs
	}, "files and the environment belong to the process and its drivers"},
	{[]string{"log"}, nil, "logging is log/slog"},
	{[]string{"unsafe", "C"}, nil, "nothing here needs it"},
}

// testOnly lists packages that only tests may import, in addition to those whose names end in test.
var testOnly = []string{"testing/...", "net/http/httptest", "github.com/google/go-cmp/..."}

// matches reports whether a pattern includes a package.
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
