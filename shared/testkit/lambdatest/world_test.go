package lambdatest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/identity/token"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/lambdatest"
)

var (
	dynamo = awstest.DynamoDB()
	sqs    = awstest.SQS()
	moto   = awstest.Moto()
	worlds atomic.Int64
	built  = &programs{paths: map[string]func() (string, error){}}
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "lambdatest-*")
	if err != nil {
		panic(err)
	}
	built.folder = folder
	code := awstest.Run(m, dynamo, sqs, moto)
	os.RemoveAll(folder)
	os.Exit(code)
}

// programs builds each function's program once, at its first use.
type programs struct {
	folder string
	mu     sync.Mutex
	paths  map[string]func() (string, error)
}

func (p *programs) of(t *testing.T, function string) string {
	t.Helper()
	p.mu.Lock()
	build, ok := p.paths[function]
	if !ok {
		build = sync.OnceValues(func() (string, error) { return lambdatest.Build(context.Background(), function, p.folder) })
		p.paths[function] = build
	}
	p.mu.Unlock()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// world holds the tables, queues and secrets that the functions of one test use.
type world struct {
	name               string          // prefix of the tables' and queues' names
	signing, published *awstest.Secret // secrets with the token keys
	plan               string          // id of the usage plan "free"
	main               *dynamostore.Store
	retries, syncs     queue.Queue
	notices            queue.Queue
	environment        []string
}

// newWorld makes a world whose secrets have this text; "" leaves them without a value.
func newWorld(t *testing.T, secret string) *world {
	t.Helper()
	access, name := awstest.Access(t, dynamo, moto), fmt.Sprint("world-", worlds.Add(1))
	w := &world{
		name: name, signing: awstest.NewSecret(t, access), published: awstest.NewSecret(t, access), plan: awstest.UsagePlan(t, access, name),
		main: dynamostore.New(access, dynamostore.Options{Table: name}),
	}
	if secret != "" {
		w.setKeys(t, secret)
	}
	for _, table := range []string{name, name + "-keys"} {
		if err := dynamostore.Create(t.Context(), access, table, dynamostore.Shape{Stream: true}); err != nil {
			t.Fatal(err)
		}
	}
	w.environment = append(functionEnvironment(name), awstest.Environment(t, dynamo, moto)...)
	w.environment = append(w.environment,
		"ORGOPS_WRAPPING_KEY="+awstest.WrappingKey(t, access), "ORGOPS_USAGE_PLANS=free="+w.plan+",pro=plan2",
		"ORGOPS_TOKEN_KEYS="+w.published.ARN, "ORGOPS_SIGNING_KEYS="+w.signing.ARN,
	)
	return w
}

// setKeys sets both secrets to this text.
func (w *world) setKeys(t *testing.T, secret string) {
	t.Helper()
	w.signing.Set(t, secret)
	w.published.Set(t, secret)
}

const issuer = "https://api.example.com"

// functionEnvironment returns all variables that the stack sets for functions, with tables of this name.
func functionEnvironment(table string) []string {
	return []string{
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
		"ORGOPS_TABLE=" + table, "ORGOPS_KEYS_TABLE=" + table + "-keys", "ORGOPS_WRAPPING_KEY=arn:aws:kms:eu-central-1:111122223333:key/one",
		"ORGOPS_TOKEN_KEYS=arn:aws:secretsmanager:eu-central-1:111122223333:secret:tokens",
		"ORGOPS_SIGNING_KEYS=arn:aws:secretsmanager:eu-central-1:111122223333:secret:signing", "ORGOPS_ISSUER=" + issuer,
		"ORGOPS_USAGE_PLANS=free=plan1,pro=plan2",
	}
}

// withQueues creates the queues and adds them to the world.
func (w *world) withQueues(t *testing.T) *world {
	t.Helper()
	access := sqs.Access(t)
	open := func(name string) queue.Queue {
		url, dead, err := sqsqueue.CreatePair(t.Context(), access, w.name+"-"+name)
		if err != nil {
			t.Fatal(err)
		}
		variable := "ORGOPS_" + strings.ToUpper(name)
		w.environment = append(w.environment, variable+"_QUEUE="+url, variable+"_DEAD_LETTERS="+dead)
		return sqsqueue.New(access, sqsqueue.Options{URL: url, Dead: dead})
	}
	w.environment = append(w.environment, "AWS_ENDPOINT_URL_SQS="+*access.BaseEndpoint("SQS"))
	w.retries, w.syncs, w.notices = open("retries"), open("syncs"), open("notices")
	return w
}

// start runs a function in the world.
func (w *world) start(t *testing.T, function string, more ...string) *lambdatest.Function {
	t.Helper()
	return lambdatest.Start(t, built.of(t, function), append(append([]string{}, w.environment...), more...)...)
}

// secretText returns the text of a secret with a new signing key and its public key.
func secretText(t *testing.T) string {
	t.Helper()
	return secretOf(t, newKeys(t))
}

// tokenFor returns a token with these claims that a key signs.
func tokenFor(t testing.TB, keys token.KeySet, claims token.Claims) string {
	t.Helper()
	text, err := token.NewSigner(token.Config{Issuer: issuer, Audience: "orgops"}, keys).Issue(claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newKeys(t testing.TB) token.KeySet {
	t.Helper()
	key, err := token.NewKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return token.KeySet{Current: key}
}

func secretOf(t testing.TB, keys token.KeySet) string {
	t.Helper()
	text, err := keys.Encode()
	if err != nil {
		t.Fatal(err)
	}
	published, err := keys.Public().Encode()
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]any{"cursor": "a text of some length"}
	for _, part := range [][]byte{text, published} {
		if err := json.Unmarshal(part, &members); err != nil {
			t.Fatal(err)
		}
	}
	both, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(both)
}

// sample reads events/<name>.json and replaces texts in it, given as pairs of old and new.
func sample(t *testing.T, name string, replace ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("events/%s.json does not contain %s", name, replace[i])
		}
	}
	return []byte(strings.NewReplacer(replace...).Replace(string(text)))
}

// ask invokes a route group's function and decodes its response.
func ask(t *testing.T, f *lambdatest.Function, payload []byte) events.APIGatewayProxyResponse {
	t.Helper()
	var resp events.APIGatewayProxyResponse
	into(t, f.Invoke(t, payload), &resp)
	return resp
}

// wantAnswer checks that a route group answers a payload with this status and with this text in the body.
func wantAnswer(t *testing.T, f *lambdatest.Function, payload []byte, status int, holds string) events.APIGatewayProxyResponse {
	t.Helper()
	resp := ask(t, f, payload)
	if resp.StatusCode != status {
		t.Errorf("status = %d, want %d: %s", resp.StatusCode, status, resp.Body)
	}
	if !strings.Contains(resp.Body, holds) {
		t.Errorf("body = %s, want one with %s", resp.Body, holds)
	}
	return resp
}

// wantError checks that a function fails a payload with an error that contains this text.
func wantError(t *testing.T, f *lambdatest.Function, payload []byte, holds string) {
	t.Helper()
	r := f.Invoke(t, payload)
	if !r.Failed {
		t.Errorf("%s was answered with %s, want an error", payload, r.Body)
	}
	if !strings.Contains(r.Error, holds) {
		t.Errorf("error %q, want one with %q", r.Error, holds)
	}
}

// into decodes a function's answer, and ends the test if the function failed.
func into(t *testing.T, r lambdatest.Result, answer any) {
	t.Helper()
	if r.Failed {
		t.Fatalf("the function failed: %s", r.Error)
	}
	if err := json.Unmarshal(r.Body, answer); err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
}

// request makes a gateway event for a request without a sample.
func request(t *testing.T, method, path, bearer, body string) []byte {
	t.Helper()
	e := events.APIGatewayProxyRequest{
		HTTPMethod: method, Path: path, Body: body, MultiValueHeaders: map[string][]string{"Content-Type": {"application/json"}},
		RequestContext: events.APIGatewayProxyRequestContext{DomainName: "api.example.com", RequestID: "5b0c7a52-2f5e-4c53-9f0e-1d6a3b7c8e90"},
	}
	if bearer != "" {
		e.MultiValueHeaders["Authorization"] = []string{"Bearer " + bearer}
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
