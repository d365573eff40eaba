package courier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

const processes = 20

var dynamo = awstest.DynamoDB()

func TestMain(m *testing.M) { os.Exit(dynamo.Run(m)) }

// fleet holds processes that send to one endpoint, each with its own memory, over one table.
type fleet struct {
	*worktest.Harness
	receiver *worktest.Receiver
	store    *worktest.Store // of all processes
	reads    atomic.Int64    // of the shared bounds
	writes   atomic.Int64
	couriers []*courier.Courier
	next     atomic.Int64
}

// newFleet registers the endpoint with a limit of attempts a second, 0 for none.
func newFleet(t *testing.T, table store.Store, limit int, now func(*worktest.Harness) func() time.Time) *fleet {
	t.Helper()
	h := worktest.New(t)
	f := &fleet{Harness: h, receiver: h.Receive()}
	h.Register(worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: f.receiver.URL, Secrets: f.receiver.Secrets, Events: []string{"memory.*"}, RateLimit: limit,
	})
	if table == nil {
		table = h.Store
	} else {
		f.copy(table)
	}
	f.store = &worktest.Store{Store: &boundsCounter{table, f}}
	for range processes {
		f.couriers = append(f.couriers, courier.New(courier.Deps{
			Store: f.store, Vault: h.Vault, Client: h.Client, Logger: h.Logger, Now: now(h), Shared: true,
		}))
	}
	return f
}

func realTime(*worktest.Harness) func() time.Time    { return time.Now }
func testsTime(h *worktest.Harness) func() time.Time { return h.Clock.Now }

// copy writes the endpoint to another table.
func (f *fleet) copy(to store.Store) {
	f.T.Helper()
	for _, key := range []string{integration.Key("webhook"), integration.CredentialKey("webhook")} {
		item, err := f.Company("a").Get(f.T.Context(), key, nil)
		errtest.Must(f.T, err)
		c := store.For(to, "a")
		errtest.Must(f.T, c.Commit(f.T.Context(), c.Create(key, item.Entity, item.Body)))
	}
}

// boundsCounter counts the calls for the shared bounds alone.
type boundsCounter struct {
	store.Store
	f *fleet
}

func (c *boundsCounter) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if key == integration.BoundsKey("webhook", "") {
		c.f.reads.Add(1)
	}
	return c.Store.Get(ctx, p, key)
}

func (c *boundsCounter) Commit(ctx context.Context, ops ...store.Op) error {
	if ops[0].Entity == integration.BoundsEntity {
		c.f.writes.Add(1)
	}
	return c.Store.Commit(ctx, ops...)
}

// retry makes a later attempt of a new delivery, in process n. made is false if it must wait.
func (f *fleet) retry(n int) (o courier.Outcome, made bool, due time.Time) {
	c := f.couriers[n]
	id := fmt.Sprint("e", f.next.Add(1))
	t := &courier.Task{Company: store.For(c.Store, "a"), Delivery: delivery.Delivery{
		Head:    delivery.Head{EventID: id, Endpoint: "webhook", Event: "memory.created", CreatedAt: c.Now()},
		Payload: json.RawMessage(fmt.Sprintf(`{"id":%q}`, id)),
	}}
	o, made = attempt(f.T.Context(), c, t)
	if o.Err != nil {
		f.T.Error(o.Err)
	}
	if t.Delivery.NextAttemptAt != nil {
		due = *t.Delivery.NextAttemptAt
	}
	return o, made, due
}

// attempts reports whether process n makes an attempt now.
func (f *fleet) attempts(n int) bool {
	f.T.Helper()
	_, made, _ := f.retry(n)
	return made
}

// together makes n attempts in each process at once, and returns how many were made. The receiver answers with the status, but
// only when every other delivery has been refused.
func (f *fleet) together(n, status int) (attempted int) {
	f.T.Helper()
	gate := make(chan struct{})
	f.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		<-gate
		w.WriteHeader(status)
	})
	before := len(f.receiver.All())
	var made, refused atomic.Int64
	var all sync.WaitGroup
	for process := range f.couriers {
		for range n {
			all.Go(func() {
				if f.attempts(process) {
					made.Add(1)
				} else {
					refused.Add(1)
				}
			})
		}
	}
	worktest.Until(f.T, "each delivery is sent or refused", func() bool {
		return len(f.receiver.All())-before+int(refused.Load()) == n*len(f.couriers)
	})
	close(gate)
	all.Wait()
	if sent := len(f.receiver.All()) - before; sent != int(made.Load()) {
		f.T.Errorf("%d requests, want one for each of %d attempts", sent, made.Load())
	}
	return int(made.Load())
}

// tables returns the stores of which a fleet uses one; nil stands for the harness's own.
func tables(t *testing.T) map[string]func(t *testing.T) store.Store {
	t.Helper()
	return map[string]func(t *testing.T) store.Store{
		"sqlite": func(*testing.T) store.Store { return nil },
		"dynamodb": func(t *testing.T) store.Store {
			access := dynamo.Access(t)
			name := "table-" + fmt.Sprint(time.Now().UnixNano())
			errtest.Must(t, dynamostore.Create(t.Context(), access, name, dynamostore.Shape{}))
			return dynamostore.New(access, dynamostore.Options{Table: name})
		},
	}
}

// TestShared_Rate sends two seconds' worth as fast as 20 processes can, and checks the rate at the receiver in every second.
func TestShared_Rate(t *testing.T) {
	const limit, enough = 50, 100
	for name, open := range tables(t) {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, open(t), limit, realTime)
			ctx, cancel := context.WithTimeout(t.Context(), worktest.Patience)
			defer cancel()
			var mu sync.Mutex
			var arrived []time.Time
			f.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				arrived = append(arrived, time.Now())
				if len(arrived) == enough {
					cancel()
				}
				mu.Unlock()
				w.WriteHeader(http.StatusNoContent)
			})
			var all sync.WaitGroup
			for n := range 8 * processes {
				process := n % processes
				all.Go(func() {
					for ctx.Err() == nil {
						if o, made, _ := f.retry(process); !made {
							wait.For(ctx, time.Until(o.Until))
						}
					}
				})
			}
			all.Wait()
			slices.SortFunc(arrived, time.Time.Compare)
			most, first := 0, 0
			for last := range arrived {
				for arrived[last].Sub(arrived[first]) >= time.Second {
					first++
				}
				most = max(most, last-first+1)
			}
			t.Logf("%d attempts, at most %d in a second; %d writes and %d reads of the bounds", len(arrived), most, f.writes.Load(), f.reads.Load())
			if want := limit * 12 / 10; most > want {
				t.Errorf("%d attempts in a second, want at most %d", most, want)
			}
			if len(arrived) < enough {
				t.Errorf("%d attempts in %v, want at least %d", len(arrived), worktest.Patience, enough)
			}
		})
	}
}

// TestShared_Breaker opens the breaker by failures in five processes, and lets one of 20 processes probe.
func TestShared_Breaker(t *testing.T) {
	t.Parallel()
	for name, open := range tables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, open(t), 0, testsTime)
			f.receiver.Status(http.StatusInternalServerError)
			for n := range 5 {
				f.retry(n)
			}
			f.wantTogether("while the breaker is open", 0, http.StatusNoContent)
			f.Clock.Advance(31 * time.Second)
			f.wantTogether("the probe", 1, http.StatusInternalServerError)
			f.Clock.Advance(31 * time.Second)
			f.wantTogether("after a failed probe, for a minute", 0, http.StatusNoContent)
			f.Clock.Advance(31 * time.Second)
			f.wantTogether("the second probe", 1, http.StatusNoContent)
			f.Clock.Advance(2 * time.Second)
			f.wantTogether("after a probe that succeeded", processes, http.StatusNoContent)
		})
	}
}

// wantTogether makes an attempt in each process at once, and checks how many were made.
func (f *fleet) wantTogether(what string, want, status int) {
	f.T.Helper()
	if made := f.together(1, status); made != want {
		f.T.Errorf("%s: %d attempts, want %d", what, made, want)
	}
}

// TestShared_InFlight makes 20 attempts at once in each of 20 processes while the receiver hangs: 20 free and 240 leased.
func TestShared_InFlight(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	made := f.together(20, http.StatusNoContent)
	if most := processes + 240; made > most {
		t.Errorf("%d attempts in flight, want at most %d", made, most)
	}
	if least := processes + 100; made < least {
		t.Errorf("%d attempts in flight, want at least %d", made, least)
	}
	t.Logf("%d attempts in flight; %d writes and %d reads of the bounds", made, f.writes.Load(), f.reads.Load())
}

// TestShared_Idle checks that single attempts to a healthy endpoint without a limit neither write nor read the bounds.
func TestShared_Idle(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	for n := range 3 * processes {
		f.retry(n % processes)
	}
	f.wantCalls(0, 0)
	f.receiver.Status(http.StatusInternalServerError)
	f.retry(0)
	f.wantCalls(0, 1)
	f.receiver.Status(http.StatusNoContent)
	f.Clock.Advance(time.Second)
	f.retry(1) // resets the count of failures
	f.Clock.Advance(time.Second)
	f.retry(2)
	f.wantCalls(0, 2)
}

// TestShared_Ended makes attempts one after another and then two at once. The second one needs a leased slot: those before hold none, and
// have given back no more than they held.
func TestShared_Ended(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	for range 3 {
		f.retry(0)
	}
	f.wantCalls(0, 0)
	open := f.receiver.Gate()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { f.attempts(0) })
	}
	worktest.Until(t, "two attempts are in flight", func() bool { return len(f.receiver.All()) == 5 })
	f.wantCalls(0, 1)
	open()
	all.Wait()
}

func (f *fleet) wantCalls(reads, writes int64) {
	f.T.Helper()
	if got := f.reads.Load(); got != reads {
		f.T.Errorf("%d reads of the bounds, want %d", got, reads)
	}
	if got := f.writes.Load(); got != writes {
		f.T.Errorf("%d writes of the bounds, want %d", got, writes)
	}
}

// TestShared_Away makes no attempt that needs a write while the store refuses writes.
func TestShared_Away(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 10, testsTime)
	f.store.Before(func([]store.Op) error { return store.ErrUnavailable })
	for n := range processes {
		if f.attempts(n) {
			t.Error("an attempt was made, want none")
		}
	}
	if n := len(f.receiver.All()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	f.store.Before(func([]store.Op) error { return errors.New("the outcome is not known") })
	f.Clock.Advance(2 * time.Second)
	f.retry(0)
	if n := len(f.receiver.All()); n != 0 {
		t.Errorf("%d requests after a write of unknown outcome, want none", n)
	}
	f.store.Before(nil)
	f.Clock.Advance(2 * time.Second)
	if !f.attempts(0) {
		t.Error("no attempt after the store is back, want one")
	}
}

// TestShared_RetryAfter lets the deliveries of all processes wait when an endpoint has told one of them to, and none when it answers.
func TestShared_RetryAfter(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil, 0, testsTime)
	if !f.attempts(0) {
		t.Fatal("no attempt, want one")
	}
	if got := f.writes.Load(); got != 0 {
		t.Errorf("%d writes of the bounds after an attempt that was delivered, want none", got)
	}
	f.receiver.Answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	ends := f.Clock.Now().Add(2 * time.Hour)
	if _, _, due := f.retry(1); !due.Equal(ends) {
		t.Errorf("the refused delivery is due at %v, want %v", due, ends)
	}
	f.receiver.Answer(nil)
	for _, now := range []time.Duration{time.Second, time.Hour, 59*time.Minute + 58*time.Second} {
		f.Clock.Advance(now)
		got, made, _ := f.retry(2)
		if made {
			t.Fatalf("an attempt %v before the end of the wait, want none", ends.Sub(f.Clock.Now()))
		}
		if late := got.Until.Sub(ends); late <= 0 || late > 5*time.Second {
			t.Errorf("another delivery is due %v after the refused one, want up to 5 s", late)
		}
	}
	f.Clock.Advance(time.Second)
	if !f.attempts(3) {
		t.Error("no attempt at the end of the wait, want one")
	}
}
