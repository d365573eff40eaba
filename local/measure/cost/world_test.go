package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions"
	"orgops/shared/base/metric"
	"orgops/shared/base/version"
	"orgops/shared/domain/company"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/user"
	"orgops/shared/identity/application"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/run/server"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/vault"
	"orgops/shared/storage/vault/kmsvault"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/oauthtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/standardwebhooks"
)

var (
	dynamo = awstest.DynamoDB()
	sqs    = awstest.SQS()
	moto   = awstest.Moto()
	worlds atomic.Int64
)

// begin is when every world begins. Sizes depend on the day of the week and on the hour, so it is the same for every run: half
// past, so that no step crosses an hour; in mid-week, so that no brief is due; and years ahead, so that DynamoDB Local, which
// has a clock of its own, finds nothing expired.
var begin = time.Date(2036, time.March, 5, 10, 30, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	os.Exit(awstest.Run(m, dynamo, sqs, moto))
}

// world runs the functions against tables, queues and keys, each through a proxy that counts requests.
type world struct {
	t        *testing.T
	number   int64 // in the names of tables and queues
	tables   *awstest.Proxy
	queues   *awstest.Proxy
	others   *awstest.Proxy // for KMS, Secrets Manager and API Gateway
	wrapping string         // ARN of the key that wraps data keys
	clock    *clocktest.Clock
	meter    *dynamostore.Meter
	spread   *dynamostore.Spread // of all processes
	metrics  *metric.Recorder
	log      *logtest.Log      // of the metrics
	urls     map[string]string // of the queues
	keys     token.KeySet
	receiver *httptest.Server
	slack    *slacktest.Slack
	feed     *httptest.Server
	provider *oauthtest.Server // gives access

	mu      sync.Mutex
	broken  bool // the receiver answers 500
	tag     string
	edition string

	company, token string
	founder        string         // user id
	sessions       *user.Sessions // of all processes
	people         int            // users added
	seeded         seeded
	asked          []awstest.Request // in the last measured step, without retries
	used           int               // numbers
}

const (
	mainTable, keysTable = "main", "keys"
	email, pass          = "ada@example.com", "correct horse battery staple"
	secret               = "whsec_dHJpcHMgdHJpcHMgdHJpcHMgdHJpcHMgdHJpcHMgdHI="
)

func newWorld(t *testing.T) *world {
	key, err := token.NewKey(nil)
	errtest.Must(t, err)
	keys := token.KeySet{Current: key}
	w := &world{
		t: t, number: worlds.Add(1), tables: dynamo.Through(t), queues: sqs.Through(t), meter: &dynamostore.Meter{}, spread: &dynamostore.Spread{}, keys: keys, urls: map[string]string{},
		others: moto.Through(t), wrapping: awstest.WrappingKey(t, moto.Access(t)),
		clock: clocktest.At(begin), provider: oauthtest.New(t),
	}
	w.metrics, w.log = metrictest.New(w.clock.Now)
	for _, name := range []string{mainTable, keysTable} {
		errtest.Must(t, dynamostore.Create(t.Context(), w.tables.Access(), w.own(name), dynamostore.Shape{Stream: true}))
	}
	for _, name := range []string{"retries", "syncs", "notices"} {
		w.urls[name], w.urls[name+"-dead"], err = sqsqueue.CreatePair(t.Context(), w.queues.Access(), w.own(name))
		errtest.Must(t, err)
	}
	w.receiver = httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(w.receiver.Close)
	w.slack = slacktest.New(t)
	w.feed = httptest.NewServer(http.HandlerFunc(w.entries))
	t.Cleanup(w.feed.Close)
	made, err := company.Provision(t.Context(), w.table(mainTable), password.New(), company.New{Name: "Acme", Email: email, Password: pass}, w.clock.Now())
	errtest.Must(t, err)
	w.company, w.founder, w.sessions = made.CompanyID, made.UserID, user.NewSessions(w.clock.Now)
	w.token = w.login()
	w.seed()
	return w
}

// fail sets whether the receiver answers 500.
func (w *world) fail(broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = broken
}

// receive serves the subscriber, which refuses unsigned deliveries.
func (w *world) receive(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = standardwebhooks.Verify([]string{secret}, r.Header, body, w.clock.Now())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		out.WriteHeader(http.StatusUnauthorized)
	case w.broken:
		out.WriteHeader(http.StatusInternalServerError)
	}
}

// own returns a name that no other world uses.
func (w *world) own(name string) string { return fmt.Sprint(name, "-", w.number) }

// table opens a table through the proxy, with its capacity metered.
func (w *world) table(name string) *dynamostore.Store {
	o := dynamostore.Options{Table: w.own(name), Now: w.clock.Now, Meter: w.meter}
	if name == mainTable {
		o.Spread = w.spread
	}
	return dynamostore.New(w.tables.Access(), o)
}

func (w *world) queue(name string) queue.Queue {
	return sqsqueue.New(w.queues.Access(), sqsqueue.Options{URL: w.urls[name], Dead: w.urls[name+"-dead"], Now: w.clock.Now})
}

// fresh returns the services of a process that has just started: it holds no data key and no endpoint's state.
func (w *world) fresh() *boot.Services {
	w.t.Helper()
	wrapper := kmsvault.New(w.others.Access(), w.wrapping)
	client := outbound.New(outbound.Options{AllowLoopback: true})
	signs := token.NewSigner(w.tokens(), w.keys)
	s := boot.New(boot.Parts{Base: "https://orgops.test",
		Store: w.table(mainTable), Retries: w.queue("retries"), Syncs: w.queue("syncs"), Notices: w.queue("notices"), Mail: taker{}, SlackURL: w.slack.URL, SlackApp: slackApp,
		Keys:  token.AtHand{Signs: signs, Verifies: w.keys.Public},
		Vault: vault.New(wrapper, vault.StoreKeys{Store: w.table(keysTable)}, w.clock.Now), Client: client,
		Connectors: catalog.All(client, w.clock.Now), Logger: slog.New(slog.DiscardHandler), Metrics: w.metrics, Now: w.clock.Now,
		Engine: policyengine.New(w.clock.Now), Separate: true, Applications: application.Static{"gitlab": w.provider.Application("https://gitlab.com")},
	})
	w.t.Cleanup(s.Client.CloseIdle)
	return s
}

func (w *world) tokens() token.Config {
	return token.Config{Issuer: "cost", Audience: "cost", Now: w.clock.Now}
}

// server mounts every route group in such a process.
func (w *world) server() *web.Server {
	services := w.fresh()
	s := server.New(services, server.Options{
		Build: version.Build{Release: "test"}, Verifier: token.NewVerifier(w.tokens(), w.keys.Public()), Sessions: w.sessions, CursorKey: []byte("thirty-two bytes of a cursor key"),
	})
	functions.Mount(s.API(), services)
	return s
}

// tenant returns the store of the company's items.
func (w *world) tenant() store.Company { return store.For(w.table(mainTable), w.company) }

// lines counts the lines of metrics after a position of the log. None may be longer than the bill assumes.
func (w *world) lines(from int) (n int) {
	w.t.Helper()
	for line := range strings.Lines(w.log.String()[from:]) {
		if n++; len(line)+requestAndStore > metricLine*kB {
			w.t.Errorf("a line of metrics has %d bytes, want %g at most: %s", len(line), metricLine*kB-requestAndStore, line)
		}
	}
	return n
}

// know lets every process know which tokens of a user have been ended, which "guard: …" measures, and which companies are spread.
func (w *world) know(userID string) {
	w.t.Helper()
	_, err := w.sessions.Check(w.t.Context(), w.tenant(), token.Claims{Subject: userID})
	errtest.Must(w.t, err)
	w.list()
}

// list reads which companies are spread, unless the processes have read it within a minute.
func (w *world) list() {
	w.t.Helper()
	if _, err := w.tenant().Get(w.t.Context(), memory.Key("none"), nil); !errors.Is(err, store.ErrNotFound) {
		w.t.Fatalf("get of a missing memory: %v, want ErrNotFound", err)
	}
}

// lists reads which companies are spread, in a process that has just started, with a memory that does not exist.
func (w *world) lists() func() {
	return func() {
		w.spread = &dynamostore.Spread{}
		w.list()
	}
}

// guards reads whether a user's tokens were ended, in a process that has just started.
func (w *world) guards() func() {
	return func() {
		_, err := user.NewSessions(w.clock.Now).Check(w.t.Context(), w.tenant(), token.Claims{Subject: w.founder})
		errtest.Must(w.t, err)
	}
}

// requestAndStore is the size in bytes of what a deployed function adds to its first line: the request's id and the store's
// round trips.
const requestAndStore = 110

// measure returns what do requests from AWS. It does not count retries after a slow answer, which depend on the machine.
func (w *world) measure(do func()) units {
	w.t.Helper()
	w.know(w.founder)
	tables, queues, others := len(w.tables.Asked()), len(w.queues.Asked()), len(w.others.Asked())
	w.meter.Take()
	w.metrics.Flush("")
	logged := len(w.log.String())
	do()
	used := w.meter.Take()
	w.metrics.Flush("")
	once := func(asked []awstest.Request) []awstest.Request {
		return slices.DeleteFunc(asked, func(r awstest.Request) bool { return r.Again })
	}
	tried := len(w.tables.Asked()) - tables
	toQueues := once(w.queues.Asked()[queues:])
	w.asked = slices.Concat(once(w.tables.Asked()[tables:]), toQueues, once(w.others.Asked()[others:]))
	u := units{read: used.Read, written: used.Write, queue: len(toQueues), lines: w.lines(logged)}
	for _, r := range w.asked {
		switch r.Operation {
		case "Encrypt", "Decrypt":
			u.keys++
		case "GetSecretValue", "DescribeSecret", "PutSecretValue", "UpdateSecretVersionStage":
			u.secrets++
		case "GetItem", "BatchGetItem":
			u.gets++
		case "Query":
			u.queries++
		case "PutItem":
			u.puts++
		case "DeleteItem":
			u.deletes++
		case "TransactWriteItems":
			u.transactions++
		}
	}
	if tried != used.Trips {
		w.t.Errorf("the meter counted %d round trips, want the proxy's %d", used.Trips, tried)
	}
	return u
}
