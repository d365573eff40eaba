package soak_test

import (
	"crypto/rand"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// world is a running program with the servers that it calls, and the links to those that all companies share.
type world struct {
	program      *program
	tenants      *receivers
	feed         *httptest.Server
	table, queue *link // nil on SQLite
}

const entries = 30 // of the feed

// newWorld starts the servers that tenants run.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{tenants: newReceivers(t), feed: httptest.NewServer(news(entries))}
	t.Cleanup(w.feed.Close)
	return w
}

// startEmbedded starts the program on SQLite.
func startEmbedded(t *testing.T) *world {
	w := newWorld(t)
	w.program = newProgram(t)
	w.program.run()
	return w
}

// startAWS starts the program on stand-ins for DynamoDB, SQS, KMS and Secrets Manager. Links lead to the first two.
func startAWS(t *testing.T) *world {
	w := newWorld(t)
	env := append(awstest.Environment(t, dynamo, sqs, moto), "ORGOPS_ALLOW_NETWORKS=127.0.0.0/8")
	w.table, w.queue = newLink(t, awstest.Endpoint(t, dynamo)), newLink(t, awstest.Endpoint(t, sqs))
	w.program = newProgram(t, append(env, "AWS_ENDPOINT_URL_DYNAMODB="+w.table.url, "AWS_ENDPOINT_URL_SQS="+w.queue.url)...)
	w.program.env = append(w.program.env, w.program.exports("aws", "create", "--prefix", "soak")...)
	w.program.run()
	return w
}

// company makes a company with its endpoints and its source, all of them certified.
func (w *world) company(t *testing.T, name string) *workload {
	t.Helper()
	var made struct{ CompanyID, Email, Password string }
	w.program.admin(t, &made, "company", "create", "--name", name, "--email", strings.ReplaceAll(name, " ", "-")+"@example.com")
	c := &tenant{t: t, base: w.program.url, companyID: made.CompanyID}
	var token struct {
		Access string `json:"access_token"`
	}
	eventually(t, "the program serves", func() error {
		return c.send("POST", "/auth/login", map[string]string{"email": made.Email, "password": made.Password}, nil, &token)
	})
	c.token = token.Access
	l := &workload{tenant: c, secret: newSecret(t), receivers: newLink(t, w.tenants.url), source: newLink(t, w.feed.URL)}
	l.first, l.later = l.endpoint(w, "webhook", false), l.endpoint(w, "webhook-later", true)
	c.must("POST", c.at("/integrations/feed"), map[string]any{"url": l.source.url + "/" + made.CompanyID}, nil)
	c.certify("feed")
	return l
}

// endpoint subscribes one of the tenant's receivers.
func (l *workload) endpoint(w *world, provider string, picky bool) *receiver {
	path := "/" + l.companyID + "/" + provider
	r := w.tenants.add(path, l.secret, picky)
	l.must("POST", l.at("/integrations/"+provider), map[string]any{
		"url": l.receivers.url + path, "events": []string{"memory.*"}, "signingSecret": l.secret,
	}, nil)
	l.certify(provider)
	return r
}

func (c *tenant) certify(provider string) {
	c.t.Helper()
	var report struct{ State string }
	c.must("POST", c.at("/integrations/"+provider+"/certification"), nil, &report)
	if report.State != "certified" {
		c.t.Fatalf("%s is %s, want certified", provider, report.State)
	}
}

func newSecret(t *testing.T) string {
	secret, err := standardwebhooks.GenerateSecret(rand.Reader)
	errtest.Must(t, err)
	return secret
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: not within a minute: %v", what, err)
		case <-again.C:
		}
	}
}
