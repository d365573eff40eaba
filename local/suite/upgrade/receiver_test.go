package upgrade

import (
	"context"
	"errors"
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

// receiver takes deliveries, serves a feed, and is an OpenID provider on this machine. Both releases reach it while they are driven.
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
	if request.URL.Path == "/.well-known/openid-configuration" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token","jwks_uri":"%[1]s/keys",
			"id_token_signing_alg_values_supported":["RS256"]}`, r.URL)
		return
	}
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

// refuse sends webhooks that the service refuses, without a signature and with a body that is no object, and waits until both are counted.
func refuse(ctx context.Context, client *apiclient.Client) error {
	signer, err := standardwebhooks.NewSigner([]string{signingSecret})
	if err != nil {
		return err
	}
	unread := []byte("no object")
	for _, header := range []http.Header{{}, signer.Headers("msg_unread", unread, time.Now())} {
		if client.Inbound(ctx, "webhook", header, unread, nil) == nil {
			return errors.New("a webhook that cannot be read was accepted")
		}
	}
	return poll(ctx, "the count of refused webhooks", func() (bool, error) {
		var is struct {
			Health struct {
				Inbound struct {
					Refused    int `json:"refused24h"`
					Unverified int `json:"unverified24h"`
				} `json:"inbound"`
			} `json:"health"`
		}
		err := client.Do(ctx, http.MethodGet, "/integrations/webhook", nil, &is)
		return is.Health.Inbound.Refused*is.Health.Inbound.Unverified > 0, err
	})
}

// begin begins a single sign-on and leaves it open.
func begin(ctx context.Context, base, company string) error {
	const challenge = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/auth/sso/"+company+"/start?code_challenge_method=S256&state=mine&code_challenge="+challenge, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultTransport.RoundTrip(request) // which follows no redirect
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusFound {
		return fmt.Errorf("the sign-in began with %s, want %d", response.Status, http.StatusFound)
	}
	return nil
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
