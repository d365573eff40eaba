package ticker_test

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/functions/ticker"
	"orgops/shared/domain/company"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

// TestCanary counts a reader that handles no changes, until it handles them again, and no reader that works.
func TestCanary(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]string{"both work": "", "without the projector": "projector", "without the dispatcher": "dispatcher"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			now := time.Now().UTC().Truncate(time.Minute)
			clock := func() time.Time { return now }
			st := worktest.New(t)
			st.Clock.Set(now)
			tick := &ticker.Ticker{Store: st.Store, Logger: r.Logger, Metrics: st.Metrics, Now: clock, Canary: true}
			readers := map[string]func(store.Batch) error{
				"projector": func(b store.Batch) error {
					p := &projector.Projector{Store: st.Store, Logger: slog.New(slog.DiscardHandler), Now: clock}
					return p.Handle(t.Context(), b)
				},
				"dispatcher": func(b store.Batch) error {
					d := dispatcher.New(dispatcher.Deps{
						Store: st.Store, Courier: courier.New(courier.Deps{Store: st.Store, Logger: r.Logger, Now: clock, Separate: true}), Logger: r.Logger, Now: clock,
					})
					done := make(chan error, 1)
					d.Handle(t.Context(), b, func(err error) { done <- err })
					return <-done
				},
			}
			counted := 0.0
			late := func(minutes int, off string) float64 {
				for range minutes {
					errtest.Must(t, tick.Tick(t.Context()))
					for reader, read := range readers {
						if reader != off {
							errtest.Must(t, read(written(t, st.Company(ticker.CanaryCompany), now)))
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
			if got := late(5, ""); got != 0 {
				t.Errorf("%g late readers, want none while both work", got)
			}
			if got, want := late(10, off) > 0, off != ""; got != want {
				t.Errorf("a reader was late: %v, want %v", got, want)
			}
			late(2, "")
			if got := late(5, ""); got != 0 {
				t.Errorf("%g late readers after the repair, want none", got)
			}
			for entry, err := range company.Registered(t.Context(), st.Store) {
				t.Errorf("the registry has %v (%v), want nothing: the canary is no tenant", entry, err)
			}
		})
	}
}

// written returns the canary's items as the feed delivers them at a time.
func written(t *testing.T, c store.Company, now time.Time) (b store.Batch) {
	t.Helper()
	for _, prefix := range []string{memory.Prefix, parked.Prefix} {
		page, err := c.Query(t.Context(), store.Query{Prefix: prefix})
		errtest.Must(t, err)
		for _, item := range page.Items {
			b.Changes = append(b.Changes, store.Change{
				Sequence: store.Sequence(strconv.FormatInt(now.Unix(), 10)), Company: c.ID(), Key: item.Key, Entity: item.Entity, At: item.At,
				New: &store.Image{Version: item.Version, Body: item.Body},
			})
		}
	}
	return b
}
