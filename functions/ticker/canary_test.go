package ticker_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/inbound"
	"orgops/functions/projector"
	"orgops/functions/ticker"
	"orgops/shared/domain/company"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/parked"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

// received serves the service's own inbound address over a store, and returns its base. While away reports true, it answers 503.
func received(t *testing.T, st *worktest.Harness, away func() bool) string {
	t.Helper()
	web := webtest.New(t)
	inbound.Register(web.API(), inbound.Deps{
		Company: st.Company, Connectors: catalog.All(st.Client, st.Clock.Now), Vault: st.Vault, Engine: policyengine.New(st.Clock.Now), Now: st.Clock.Now,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		web.Server.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestCanary counts a reader that handles no changes, and a receiver that takes no deliveries, until they do so again, and no other.
func TestCanary(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]string{
		"all work": "", "without the projector": "projector", "without the dispatcher": "dispatcher", "without the receiver": "receiver",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			now := time.Now().UTC().Truncate(time.Minute)
			clock := func() time.Time { return now }
			st := worktest.New(t)
			st.Clock.Set(now)
			away := false
			tick := &ticker.Ticker{
				Store: st.Store, Vault: st.Vault, Base: received(t, st, func() bool { return away }), Logger: r.Logger, Metrics: st.Metrics, Now: clock, Canary: true,
			}
			readers := map[string]func(store.Batch) error{
				"projector": func(b store.Batch) error {
					p := &projector.Projector{Store: st.Store, Logger: slog.New(slog.DiscardHandler), Now: clock}
					return p.Handle(t.Context(), b)
				},
				"dispatcher": func(b store.Batch) error {
					d := dispatcher.New(dispatcher.Deps{
						Store: st.Store, Courier: courier.New(courier.Deps{
							Store: st.Store, Vault: st.Vault, Client: st.Client, Engine: st.Engine, Logger: r.Logger, Now: clock, Separate: true,
						}), Retries: st.Retries, Logger: r.Logger, Now: clock,
					})
					return d.Courier.Serve(t.Context(), func(ctx context.Context) error {
						done := make(chan error, 1)
						d.Handle(ctx, b, func(err error) { done <- err })
						return <-done
					})
				},
			}
			seen := map[string]map[string]int64{"projector": {}, "dispatcher": {}}
			counted := 0.0
			late := func(minutes int, off string) float64 {
				away = off == "receiver"
				for range minutes {
					errtest.Must(t, tick.Tick(t.Context()))
					for reader, read := range readers {
						if reader != off {
							errtest.Must(t, read(unread(t, st.Company(ticker.CanaryCompany), seen[reader])))
						}
					}
					now = now.Add(time.Minute)
					st.Clock.Set(now)
				}
				sums, _ := st.Measured()
				n := sums["CanaryLate"] - counted
				counted += n
				return n
			}
			if got := late(20, ""); got != 0 {
				t.Errorf("%g late readers, want none while all work", got)
			}
			if got, want := late(25, off) > 0, off != ""; got != want {
				t.Errorf("a reader was late: %v, want %v", got, want)
			}
			late(65, "")
			if got := late(5, ""); got != 0 {
				t.Errorf("%g late readers after the repair, want none", got)
			}
			for entry, err := range company.Registered(t.Context(), st.Store) {
				t.Errorf("the registry has %v (%v), want nothing: the canary is no tenant", entry, err)
			}
		})
	}
}

// unread returns the canary's items that a reader has not seen, as the feed delivers them.
func unread(t *testing.T, c store.Company, seen map[string]int64) (b store.Batch) {
	t.Helper()
	for _, prefix := range []string{memory.Prefix, parked.Prefix, goal.Prefix} {
		page, err := c.Query(t.Context(), store.Query{Prefix: prefix})
		errtest.Must(t, err)
		for _, item := range page.Items {
			if seen[item.Key] == item.At.Unix() {
				continue
			}
			seen[item.Key] = item.At.Unix()
			seen["sequence"]++
			b.Changes = append(b.Changes, store.Change{
				Sequence: store.Sequence(strconv.FormatInt(seen["sequence"], 10)), Company: c.ID(), Key: item.Key, Entity: item.Entity, At: item.At,
				New: &store.Image{Version: item.Version, Body: item.Body},
			})
		}
	}
	return b
}
