package inbound_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orgops/functions/inbound"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/webtest"
)

// calls counts the calls of a store.
type calls struct {
	store.Store
	n atomic.Int64
}

func (c *calls) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	c.n.Add(1)
	return c.Store.Get(ctx, p, key)
}

func (c *calls) Commit(ctx context.Context, ops ...store.Op) error {
	c.n.Add(1)
	return c.Store.Commit(ctx, ops...)
}

// TestFlow_Alone admits a company's limit of a minute in a process that is alone, without a call to the store.
func TestFlow_Alone(t *testing.T) {
	t.Parallel()
	counted := &calls{Store: webtest.OpenStore(t)}
	admit, now := inbound.Admitting(false), time.Now()
	admitted := func(company string, tries int, now time.Time) (n int) {
		for range tries {
			if _, ok := admit(t.Context(), store.For(counted, company), now); ok {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		company string
		after   time.Duration
		want    int
	}{{"a", 0, inbound.MaxAMinute}, {"a", time.Second, inbound.MaxAMinute / 60}, {"b", time.Second, inbound.MaxAMinute}} {
		if got := admitted(step.company, inbound.MaxAMinute+100, now.Add(step.after)); got != step.want {
			t.Errorf("company %s after %v: %d webhooks admitted, want %d", step.company, step.after, got, step.want)
		}
	}
	if got := counted.n.Load(); got != 0 {
		t.Errorf("%d calls to the store, want none", got)
	}
}

// TestFlow_Shared holds the limit over several processes. A process asks the store for none of the webhooks of a quiet company,
// and for few of those of a busy one.
func TestFlow_Shared(t *testing.T) {
	t.Parallel()
	counted := &calls{Store: webtest.OpenStore(t)}
	company, now := store.For(counted, "a"), time.Now()
	quiet := inbound.Admitting(true)
	for n := range 20 {
		if _, ok := quiet(t.Context(), company, now.Add(time.Duration(n)*time.Second)); !ok {
			t.Fatalf("webhook %d of a quiet company refused", n)
		}
	}
	if got := counted.n.Load(); got != 0 {
		t.Errorf("%d calls to the store for a quiet company, want none", got)
	}
	const processes = 5
	admitted := 0
	for range processes {
		admit := inbound.Admitting(true)
		for range inbound.MaxAMinute + 100 {
			if _, ok := admit(t.Context(), company, now); ok {
				admitted++
			}
		}
	}
	if want := inbound.MaxAMinute + processes*20; admitted != want {
		t.Errorf("%d processes admitted %d webhooks, want %d: the limit, and 20 of each process", processes, admitted, want)
	}
	if got, most := counted.n.Load(), int64(2*inbound.MaxAMinute/100+2*processes); got > most {
		t.Errorf("%d calls to the store, want %d at most", got, most)
	}
}

// spread is a store whose companies have eight sub-partitions.
type spread struct{ store.Store }

func (spread) Parts(context.Context, string) (int, error)       { return 8, nil }
func (spread) Spread(context.Context, string, int) (int, error) { return 8, nil }

// TestFlow_Spread admits as many webhooks for each sub-partition of a company.
func TestFlow_Spread(t *testing.T) {
	t.Parallel()
	admit, company, now, admitted := inbound.Admitting(true), store.For(spread{webtest.OpenStore(t)}, "a"), time.Now(), 0
	for range 8*inbound.MaxAMinute + 1000 {
		if _, ok := admit(t.Context(), company, now); ok {
			admitted++
		}
	}
	if want := 8*inbound.MaxAMinute + 20; admitted != want {
		t.Errorf("%d webhooks admitted at once, want %d: the limit of eight, and 20 of the process", admitted, want)
	}
}

// TestFlow_Refused answers a company's webhooks beyond its limit with 429, counts them, and leaves other companies alone.
func TestFlow_Refused(t *testing.T) {
	t.Parallel()
	s := setupOne(t, true)
	s.certified()
	used := map[string]time.Time{"due": s.clock.Now().Add(time.Minute)} // other processes have used up the minute
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(inbound.FlowKey, "inbound-rate", used).Quietly()))
	for range 20 {
		if got := s.send("webhook", secret, "same", upsert).Status; got == 429 {
			t.Fatal("status 429 within the process's own share")
		}
	}
	refused := s.send("webhook", secret, "next", upsert).Want(429)
	for name, want := range map[string]string{"Retry-After": "1", "Ratelimit-Policy": `"inbound";q=12000;w=60`} {
		if got := refused.Header.Get(name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	s.send("webhook", other, "forged", upsert).Want(401)
	s.metrics.Flush("")
	if got := metrictest.Sums(t, s.measured.String())["InboundLimited"]; got != 1 {
		t.Errorf("InboundLimited = %g, want 1", got)
	}
	verified, _ := s.refusals("webhook")
	if got := verified["the company received too many at once"]; got != 1 {
		t.Errorf("refusals %v, want one with the reason", verified)
	}
	if body := string(refused.Body); !strings.Contains(body, "too many webhooks") {
		t.Errorf("body %s, want the reason", body)
	}
	s.clock.Advance(time.Minute)
	s.send("webhook", secret, "next", upsert).Want(202)
}
