package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions"
	"orgops/shared/awstest"
	"orgops/shared/boot"
	"orgops/shared/clocktest"
	"orgops/shared/company"
	"orgops/shared/config"
	"orgops/shared/password"
	"orgops/shared/queue"
	"orgops/shared/queue/sqsqueue"
	"orgops/shared/store"
	"orgops/shared/store/dynamostore"
	"orgops/shared/token"
	"orgops/shared/vault"
	"orgops/shared/vault/kmsvault"
	"orgops/shared/web"
	"orgops/shared/webhook"
)

var (
	dynamo = awstest.DynamoDB()
	sqs    = awstest.SQS()
	moto   = awstest.Moto()
	worlds atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, sqs, moto)) }

// world is the cloud form on parts that count: tables, queues and keys, all asked through proxies.
type world struct {
	t        *testing.T
	number   int64 // in the names of tables and queues
	tables   *awstest.Proxy
	queues   *awstest.Proxy
	others   *awstest.Proxy // of KMS, Secrets Manager and API Gateway
	wrapping string         // ARN of the key that wraps data keys
	clock    *clocktest.Clock
	meter    *dynamostore.Meter
	urls     map[string]string // of the queues
	keys     token.KeySet
	receiver *httptest.Server
	feed     *httptest.Server

	mu      sync.Mutex
	broken  bool // the receiver answers 500
	tag     string
	edition string

	company, token string
	seeded         seeded
	asked          []awstest.Request // in the step that was measured last, without second tries
	used           int               // numbers
}

const (
	mainTable, keysTable = "main", "keys"
	email, pass          = "ada@example.com", "correct horse battery staple"
	secret               = "whsec_dHJpcHMgdHJpcHMgdHJpcHMgdHJpcHMgdHJpcHMgdHI="
)

func newWorld(t *testing.T) *world {
	key, err := token.NewKey(nil)
	must(t, err)
	keys := token.KeySet{Current: key}
	w := &world{
		t: t, number: worlds.Add(1), tables: dynamo.Through(t), queues: sqs.Through(t), meter: &dynamostore.Meter{}, keys: keys, urls: map[string]string{},
		others: moto.Through(t), wrapping: awstest.WrappingKey(t, moto.Access(t)),
		clock: clocktest.At(time.Now().UTC().Truncate(time.Hour).Add(30 * time.Minute)), // so that a step does not cross an hour
	}
	for _, name := range []string{mainTable, keysTable} {
		must(t, w.table(name).CreateTable(t.Context()))
	}
	for _, name := range []string{"retries", "syncs"} {
		w.urls[name], w.urls[name+"-dead"], err = sqsqueue.CreatePair(t.Context(), w.queues.Access(), w.own(name))
		must(t, err)
	}
	w.receiver = httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(w.receiver.Close)
	w.feed = httptest.NewServer(http.HandlerFunc(w.entries))
	t.Cleanup(w.feed.Close)
	made, err := company.Provision(t.Context(), w.table(mainTable), password.New(), company.New{Name: "Acme", Email: email, Password: pass}, w.clock.Now())
	must(t, err)
	w.company = made.CompanyID
	w.token = w.login()
	w.seed()
	return w
}

// fail has the receiver answer 500, or no longer.
func (w *world) fail(broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = broken
}

// receive is a subscriber, which refuses what is not signed.
func (w *world) receive(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = webhook.Verify([]string{secret}, r.Header, body, w.clock.Now())
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

// own is a name that no other world uses.
func (w *world) own(name string) string { return fmt.Sprint(name, "-", w.number) }

// table opens a table through the proxy, metered.
func (w *world) table(name string) *dynamostore.Store {
	return dynamostore.New(w.tables.Access(), dynamostore.Options{Table: w.own(name), Now: w.clock.Now, Meter: w.meter})
}

func (w *world) queue(name string) queue.Queue {
	return sqsqueue.New(w.queues.Access(), sqsqueue.Options{URL: w.urls[name], Dead: w.urls[name+"-dead"], Now: w.clock.Now})
}

// fresh is the services of a process that has just started: it has no company's data key and knows no endpoint.
func (w *world) fresh() *boot.Services {
	w.t.Helper()
	wrapper := kmsvault.New(w.others.Access(), w.wrapping)
	s, err := boot.New(config.Config{Issuer: "cost", Audience: "cost"}, boot.Backend{
		Store: w.table(mainTable), Retries: w.queue("retries"), Syncs: w.queue("syncs"), Keys: w.keys,
		Vault: vault.New(wrapper, vault.StoreKeys{Store: w.table(keysTable)}, w.clock.Now), Loopback: true,
		CursorKey: []byte("thirty-two bytes of a cursor key"),
	}, slog.New(slog.DiscardHandler), w.clock.Now)
	must(w.t, err)
	w.t.Cleanup(s.Client.CloseIdle)
	return s
}

// server is every route group in such a process.
func (w *world) server() *web.Server {
	s := w.fresh()
	server := s.Web("test")
	functions.Register(server.API(), s)
	return server
}

// tenant is the company's items.
func (w *world) tenant() store.Company { return store.For(w.table(mainTable), w.company) }

// measure is what do asks of AWS. That something is asked for again, because an answer was slow to come, belongs to the
// machine.
func (w *world) measure(do func()) units {
	w.t.Helper()
	tables, queues, others := len(w.tables.Asked()), len(w.queues.Asked()), len(w.others.Asked())
	w.meter.Take()
	do()
	used := w.meter.Take()
	once := func(asked []awstest.Request) []awstest.Request {
		return slices.DeleteFunc(asked, func(r awstest.Request) bool { return r.Again })
	}
	tried := len(w.tables.Asked()) - tables
	toQueues := once(w.queues.Asked()[queues:])
	w.asked = slices.Concat(once(w.tables.Asked()[tables:]), toQueues, once(w.others.Asked()[others:]))
	u := units{read: used.Read, written: used.Write, queue: len(toQueues)}
	for _, r := range w.asked {
		switch r.Operation {
		case "Encrypt", "Decrypt":
			u.keys++
		case "GetSecretValue", "DescribeSecret", "PutSecretValue", "UpdateSecretVersionStage":
			u.secrets++
		case "GetItem":
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
		w.t.Errorf("the meter counted %d round trips, the proxy %d", used.Trips, tried)
	}
	return u
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
