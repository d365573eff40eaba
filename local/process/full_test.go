package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/retrier"
	"orgops/local/process"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/memory"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/standardwebhooks"
)

// counting is an endpoint in memory that counts the attempts of each delivery.
type counting struct {
	fail   bool          // the first attempt of each delivery
	answer chan struct{} // closed when it may answer

	mu  sync.Mutex
	got map[string]int // by the event's id
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	id, status := r.Header.Get(standardwebhooks.HeaderID), http.StatusNoContent
	c.mu.Lock()
	if c.got[id]++; c.fail && c.got[id] == 1 {
		status = http.StatusNotFound // not a fault of the endpoint, so its breaker stays closed
	}
	c.mu.Unlock()
	<-c.answer
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func (c *counting) attempts() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, attempts := range c.got {
		n += attempts
	}
	return n
}

// hosts sends each request to the endpoint of its host.
type hosts map[string]*counting

// RoundTrip implements http.RoundTripper.
func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	return h[r.URL.Host].RoundTrip(r)
}

// fill writes items until the file has no room.
func fill(t *testing.T, h *worktest.Harness, e *process.Embedded) {
	t.Helper()
	_, err := e.SetPages(t.Context(), 1) // SQLite makes this the present size
	errtest.Must(t, err)
	c, n := h.Company("filler"), 0
	for _, size := range []int{300 << 10, 4 << 10, 10} {
		for err := error(nil); err == nil; n++ {
			err = c.Commit(t.Context(), c.Create(fmt.Sprintf("FILLER#%06d", n), "filler", map[string]string{"x": strings.Repeat("x", size)}))
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
		}
	}
}

// TestFullDisk checks that no attempt is made again while the disk is full and records cannot be written: neither the first
// attempt of a delivery nor a retry. After the disk has room, everything is delivered, and each attempt is recorded.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := process.OpenEmbedded(t.Context(), t.TempDir(), true, time.Now)
		errtest.Must(t, err)
		defer e.Close()
		s := e.Store.(*sqlitestore.Store)
		open := make(chan struct{})
		close(open)
		failing := &counting{fail: true, answer: open, got: map[string]int{}}
		slow := &counting{answer: make(chan struct{}), got: map[string]int{}}
		h := &worktest.Harness{T: t, Clock: clocktest.At(time.Now()), Store: s, Vault: e.Vault}
		for _, company := range []string{"failing", "slow"} {
			h.Register(worktest.Endpoint{Company: company, Provider: "webhook", URL: "https://" + company, Secrets: []string{h.Secret()}, Events: []string{"memory.*"}})
		}
		var log logtest.Log
		services := boot.New(boot.Parts{
			Store: s, Retries: e.Retries, Syncs: e.Syncs, Notices: e.Notices, Vault: e.Vault, Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now, HearsChanges: true,
			Client: outbound.New(outbound.Options{Transport: hosts{"failing": failing, "slow": slow}}),
		})
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() { errtest.Must(t, dispatcher.From(services).Run(ctx, s)) })
		working.Go(func() { retrier.From(services).Run(ctx) })

		const each = 3
		for n := range each {
			for _, company := range []string{"failing", "slow"} {
				h.Put(company, memory.Key(fmt.Sprint(n)), memory.Entity, map[string]string{"title": strings.Repeat("x", 16<<10)})
			}
		}
		<-time.After(2 * time.Second) // the first attempts of one endpoint have failed, those of the other hang
		fill(t, h, e)
		close(slow.answer)
		<-time.After(time.Minute)
		if got, most := failing.attempts(), 2*each; got > most {
			t.Errorf("%d attempts at the failing endpoint with a full disk, want at most %d", got, most)
		}
		if got := slow.attempts(); got != each {
			t.Errorf("%d attempts at the slow endpoint with a full disk, want %d", got, each)
		}
		for _, want := range []string{"delivery not recorded", "attempt not recorded"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no write failed with %q, want the full disk to be felt:\n%s", want, log.String())
			}
		}
		_, err = e.SetPages(t.Context(), 1<<30)
		errtest.Must(t, err)
		<-time.After(30 * time.Minute)
		stop()
		working.Wait()
		for company, to := range map[string]*counting{"failing": failing, "slow": slow} {
			all := worktest.All[delivery.Delivery](h, company, delivery.Prefix)
			if len(all) != each {
				t.Errorf("%d deliveries of %s are recorded, want %d", len(all), company, each)
			}
			for _, d := range all {
				if d.State != delivery.Delivered {
					t.Errorf("%s of %s is %s, want it delivered", d.EventID, company, d.State)
				}
				if made, recorded := to.got[d.EventID], len(d.Attempts); made != recorded {
					t.Errorf("%s of %s: %d attempts, want the %d that are recorded", d.EventID, company, made, recorded)
				}
			}
		}
	})
}
