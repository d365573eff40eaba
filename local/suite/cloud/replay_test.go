package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// replay is the command of infra/README.md, "When changes are not handled".
const replay = "stream replay --failed"

// denied takes from a role what the dispatcher needs of the tables. Lambda still reads the stream.
const denied = `{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Resource": "*",
	"Action": ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"]}]}`

// replays takes the dispatcher's rights on the table, changes something through the API, and waits until Lambda discards the change. It
// then gives the rights back, and the operator's command has the event delivered.
func replays(ctx context.Context, t *testing.T, s *Stack, u visitor) {
	t.Helper()
	runbook, err := os.ReadFile("../../../infra/README.md")
	errtest.Must(t, err)
	if !strings.Contains(string(runbook), "`bin/orgops admin "+replay+"`") {
		t.Errorf("infra/README.md lacks the command %q", replay)
	}
	r := newReceiver(t)
	u.connect("webhook", fmt.Sprintf(`{"url":%q,"events":[%q],"signingSecret":%q}`, r.URL, subscribed, receiverSecret))
	u.certify("webhook")
	r.wantNext(ctx, t) // of its own certification, so the former changes are handled
	u.connect("feed", fmt.Sprintf(`{"url":"%s/feed.xml"}`, r.URL))

	dispatcher := s.function(ctx, t, "dispatcher")
	set := s.mapping(ctx, t, dispatcher)
	set("1") // a retry; unlimited ones last 12 hours
	var role string
	s.aws(ctx, t, &role, "lambda", "get-function-configuration", "--function-name", dispatcher, "--query", "Role")
	_, role, _ = strings.Cut(role, ":role/")
	s.aws(ctx, t, nil, "iam", "put-role-policy", "--role-name", role, "--policy-name", "mistake", "--policy-document", denied)
	u.certify("feed")
	queue := s.variable("ORGOPS_FAILED_CHANGES")
	eventually(t, func() (int, bool) {
		n := s.visible(ctx, t, queue)
		return n, n > 0
	})
	s.wantAlarm(ctx, t, queue)
	r.wantNone(t)

	s.aws(ctx, t, nil, "iam", "delete-role-policy", "--role-name", role, "--policy-name", "mistake")
	set("-1")
	t.Logf("orgops admin %s: %s", replay, s.admin(ctx, t, replay))
	r.wantNext(ctx, t)
	eventually(t, func() (string, bool) {
		var page struct{ Items []struct{ State string } }
		errtest.Must(t, json.Unmarshal(u.ask(http.MethodGet, "/companies/"+u.company+"/integrations/webhook/deliveries?state=delivered", "", http.StatusOK), &page))
		return "", len(page.Items) == 2
	})
	r.wantNone(t)
	if n := s.visible(ctx, t, queue); n != 0 {
		t.Errorf("%d messages are left, want none after the replay", n)
	}
}

// mapping returns a function that sets how often Lambda retries a batch of the stream for a function, and waits until it does.
func (s *Stack) mapping(ctx context.Context, t *testing.T, function string) func(retries string) {
	t.Helper()
	var id string
	s.aws(ctx, t, &id, "lambda", "list-event-source-mappings", "--function-name", function, "--query", "EventSourceMappings[0].UUID")
	return func(retries string) {
		s.aws(ctx, t, nil, "lambda", "update-event-source-mapping", "--uuid", id, "--maximum-retry-attempts", retries)
		eventually(t, func() (string, bool) {
			var state string
			s.aws(ctx, t, &state, "lambda", "get-event-source-mapping", "--uuid", id, "--query", "State")
			return state, state == "Enabled"
		})
	}
}

// visible returns how many messages of a queue can be received.
func (s *Stack) visible(ctx context.Context, t *testing.T, queue string) int {
	t.Helper()
	var number string
	s.aws(ctx, t, &number, "sqs", "get-queue-attributes", "--queue-url", queue, "--attribute-names", "ApproximateNumberOfMessages",
		"--query", "Attributes.ApproximateNumberOfMessages")
	n, err := strconv.Atoi(number)
	errtest.Must(t, err)
	return n
}

// wantAlarm compares the alarm of a queue, as it is deployed, with the messages in the queue: the emulator evaluates no alarms.
func (s *Stack) wantAlarm(ctx context.Context, t *testing.T, queue string) {
	t.Helper()
	name := queue[strings.LastIndex(queue, "/")+1:]
	var alarms []struct {
		AlarmName, Statistic, ComparisonOperator string
		Threshold                                float64
	}
	s.aws(ctx, t, &alarms, "cloudwatch", "describe-alarms-for-metric", "--namespace", "AWS/SQS", "--metric-name", "ApproximateNumberOfMessagesVisible",
		"--dimensions", "Name=QueueName,Value="+name, "--query", "MetricAlarms")
	if len(alarms) != 1 {
		t.Fatalf("alarms of the queue %s: %+v, want one", name, alarms)
	}
	a, n := alarms[0], float64(s.visible(ctx, t, queue))
	if want := "GreaterThanThreshold"; a.ComparisonOperator != want {
		t.Errorf("the alarm %s compares with %s, want %s", a.AlarmName, a.ComparisonOperator, want)
	}
	if n <= a.Threshold {
		t.Errorf("the alarm %s fires above %v, want it to fire at %v", a.AlarmName, a.Threshold, n)
	}
	t.Logf("the alarm %s fires: %s %v %s %v", a.AlarmName, a.Statistic, n, a.ComparisonOperator, a.Threshold)
}

// subscribed names the event of a certification.
const subscribed = "integration.certified"

const receiverSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

// receiver takes deliveries, and serves a feed.
type receiver struct {
	*httptest.Server
	got chan string // the id of each delivery of subscribed with a valid signature
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: make(chan string, 100)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// wantNext waits for a delivery.
func (r *receiver) wantNext(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case id := <-r.got:
		t.Logf("the delivery %s arrived", id)
	case <-ctx.Done():
		t.Fatal("no delivery arrived")
	}
}

func (r *receiver) wantNone(t *testing.T) {
	t.Helper()
	if n := len(r.got); n > 0 {
		t.Errorf("%d deliveries arrived more, want none", n)
	}
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title><item><guid>1</guid><title>One</title></item></channel></rss>`)
		return
	}
	body, _ := io.ReadAll(request.Body) // a body that was cut has no valid signature
	var event struct {
		Type string `json:"type"`
	}
	_, err := standardwebhooks.Verify([]string{receiverSecret}, request.Header, body, time.Now())
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if event.Type == subscribed { // no sample
		r.got <- request.Header.Get("webhook-id")
	}
}
