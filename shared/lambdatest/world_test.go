package lambdatest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/awstest"
	"orgops/shared/lambdatest"
	"orgops/shared/queue"
	"orgops/shared/queue/sqsqueue"
	"orgops/shared/store/dynamostore"
	"orgops/shared/token"
)

var (
	dynamo = awstest.DynamoDB()
	sqs    = awstest.SQS()
	built  = &programs{paths: map[string]func() (string, error){}}
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "lambdatest-*")
	if err != nil {
		panic(err)
	}
	built.folder = folder
	code := dynamo.Run(m)
	os.RemoveAll(folder)
	os.Exit(code)
}

// programs are built once each, when they are first needed.
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

// world is what functions run in: tables, queues, keys, of one test.
type world struct {
	services       *awstest.Services
	main           *dynamostore.Store
	retries, syncs queue.Queue
	environment    []string
}

// newWorld makes one whose secret has this text; "" is none.
func newWorld(t *testing.T, secret string) *world {
	t.Helper()
	access, name := dynamo.Access(t), strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	w := &world{services: awstest.NewServices(t, secret), main: dynamostore.New(access, dynamostore.Options{Table: name})}
	for _, st := range []*dynamostore.Store{w.main, dynamostore.New(access, dynamostore.Options{Table: name + "-keys"})} {
		if err := st.CreateTable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.environment = []string{
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
		"AWS_ENDPOINT_URL=" + w.services.URL, "AWS_ENDPOINT_URL_DYNAMODB=" + *access.Endpoint("DYNAMODB"),
		"ORGOPS_TABLE=" + name, "ORGOPS_KEYS_TABLE=" + name + "-keys", "ORGOPS_WRAPPING_KEY=arn:aws:kms:eu-central-1:111122223333:key/one",
		"ORGOPS_TOKEN_KEYS=arn:aws:secretsmanager:eu-central-1:111122223333:secret:tokens", "ORGOPS_ISSUER=https://api.example.com",
		"ORGOPS_USAGE_PLANS=free=plan1,pro=plan2",
	}
	return w
}

// withQueues adds the queues.
func (w *world) withQueues(t *testing.T) *world {
	t.Helper()
	access := sqs.Access(t)
	open := func(name string) queue.Queue {
		var urls [2]string
		for i, suffix := range []string{"", "-dead"} {
			url, err := sqsqueue.Create(t.Context(), access, t.Name()+"-"+name+suffix)
			if err != nil {
				t.Fatal(err)
			}
			urls[i] = url
		}
		variable := "ORGOPS_" + strings.ToUpper(name)
		w.environment = append(w.environment, variable+"_QUEUE="+urls[0], variable+"_DEAD_LETTERS="+urls[1])
		return sqsqueue.New(access, sqsqueue.Options{URL: urls[0], Dead: urls[1]})
	}
	w.environment = append(w.environment, "AWS_ENDPOINT_URL_SQS="+*access.Endpoint("SQS"))
	w.retries, w.syncs = open("retries"), open("syncs")
	return w
}

// start runs a function in the world.
func (w *world) start(t *testing.T, function string, more ...string) *lambdatest.Function {
	t.Helper()
	return lambdatest.Start(t, built.of(t, function), append(append([]string{}, w.environment...), more...)...)
}

// secretText is a secret with a signing key.
func secretText(t *testing.T) string {
	t.Helper()
	key, err := token.NewKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := token.KeySet{Current: key}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "{", `{"cursor": "a text of some length", `, 1)
}

// sample is events/<name>.json with other texts in the place of its own.
func sample(t *testing.T, name string, replace ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("events/%s.json does not hold %s", name, replace[i])
		}
	}
	return []byte(strings.NewReplacer(replace...).Replace(string(text)))
}

// ask invokes a function of a route group.
func ask(t *testing.T, f *lambdatest.Function, payload []byte) events.APIGatewayProxyResponse {
	t.Helper()
	var resp events.APIGatewayProxyResponse
	into(t, f.Invoke(t, payload), &resp)
	return resp
}

// into decodes what a function answered.
func into(t *testing.T, r lambdatest.Result, answer any) {
	t.Helper()
	if r.Failed {
		t.Fatalf("the function failed: %s", r.Error)
	}
	if err := json.Unmarshal(r.Body, answer); err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
}

// request is an event of the gateway for one that is in no sample.
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
