package upgrade

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/webhook/standardwebhooks"
)

// signingSecret signs the deliveries to the receiver.
const signingSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

// receiver takes deliveries and serves a feed on this machine. Both releases reach it while they are driven.
type receiver struct {
	*httptest.Server
	broken atomic.Bool // it answers 500
}

func newReceiver() *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title><item><guid>1</guid><title>From the feed</title></item></channel></rss>`)
		return
	}
	body, _ := io.ReadAll(request.Body) // a body that was cut has no valid signature
	switch _, err := standardwebhooks.Verify([]string{signingSecret}, request.Header, body, time.Now()); {
	case err != nil:
		w.WriteHeader(http.StatusUnauthorized)
	case r.broken.Load():
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// deliver has deliveries succeed, fail and recover, runs a sync, and asks for an approval.
func deliver(ctx context.Context, client *apiclient.Client, base string, r *receiver) error {
	for _, state := range []string{"delivered", "scheduled"} {
		r.broken.Store(state == "scheduled")
		if err := cause(ctx, base, "memory.updated"); err != nil {
			return err
		}
		if err := await(ctx, client, "/integrations/webhook/deliveries", state); err != nil {
			return err
		}
	}
	var recovery, state struct{ ID, State string }
	if err := client.Do(ctx, http.MethodPost, "/integrations/webhook/recover", object{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}, &recovery); err != nil {
		return err
	}
	if err := poll(ctx, "the recovery", func() (bool, error) {
		err := client.Do(ctx, http.MethodGet, "/integrations/webhook/recoveries/"+recovery.ID, nil, &state)
		return state.State == "finished", err
	}); err != nil {
		return err
	}
	if err := client.Do(ctx, http.MethodPost, "/memory/sync/feed", object{}, nil); err != nil {
		return err
	}
	if err := await(ctx, client, "/memory/syncs", "succeeded"); err != nil {
		return err
	}
	if err := client.Do(ctx, http.MethodPost, "/operations/erasure", object{"name": "Acme"}, nil); err != nil {
		return err
	}
	if err := await(ctx, client, "/operations/approvals", "pending"); err != nil {
		return err
	}
	return poll(ctx, "the context", func() (bool, error) {
		var is struct {
			Integrations map[string]struct{ LastSuccessAt string }
		}
		err := client.Do(ctx, http.MethodGet, "/intelligence/context", nil, &is)
		return is.Integrations["feed"].LastSuccessAt != "" && is.Integrations["webhook"].LastSuccessAt != "", err
	})
}

// states returns those of the items of a list.
func states(ctx context.Context, client *apiclient.Client, list string) ([]string, error) {
	var page struct {
		Items []struct {
			State string `json:"state"`
		} `json:"items"`
	}
	err := client.Do(ctx, http.MethodGet, list, nil, &page)
	var all []string
	for _, item := range page.Items {
		all = append(all, item.State)
	}
	return all, err
}

// await waits until an item of a list is in a state.
func await(ctx context.Context, client *apiclient.Client, list, state string) error {
	return poll(ctx, state+" in "+list, func() (bool, error) {
		got, err := states(ctx, client, list)
		return slices.Contains(got, state), err
	})
}

// poll asks until what it waits for is there.
func poll(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if there, err := is(); there || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come within a minute", what)
		case <-tick.C:
		}
	}
}
