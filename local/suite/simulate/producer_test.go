package simulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/standardwebhooks"
)

// hooks is the integration whose provider sends webhooks over HTTP.
const hooks = "webhook-hooks"

// webhook is a webhook that a provider sends until it is accepted. Its provider knows only what was answered.
type webhook struct {
	company, id string
	tries       int
	answered    int // the last status; 0: no answer
}

// tries bounds how often a provider sends a webhook.
const tries = 40

// sends returns an errand in which a provider sends a webhook, again after every failure.
func (w *world) sends(company, nonce string) func() {
	h := &webhook{company: company, id: "hook-" + nonce}
	w.hooks = append(w.hooks, h)
	return w.client("provider "+nonce, company, func(ctx context.Context, cl client) error {
		for h.tries < tries {
			h.tries++
			out, _, err := cl.request(ctx, cl.w.signed(h))
			if h.answered = 0; err == nil {
				h.answered = out.StatusCode
			}
			switch {
			case h.answered == http.StatusAccepted, h.answered == http.StatusOK:
				return nil
			case h.answered > 0 && h.answered < 500 && h.answered != http.StatusConflict && h.answered != http.StatusTooManyRequests:
				return fmt.Errorf("%s is answered %d: %s", h.id, out.StatusCode, out.Body)
			}
			if err := cl.pause(ctx, time.Duration(h.tries)*10*time.Second); err != nil {
				return err
			}
		}
		return nil
	})
}

// signed returns the request of a webhook, signed as of now.
func (w *world) signed(h *webhook) events.APIGatewayProxyRequest {
	body, err := json.Marshal(map[string]any{
		"type": "memory.upsert", "data": map[string]any{"externalId": h.id, "kind": "ticket", "title": h.company + " " + h.id},
	})
	if err != nil {
		panic(err) // plain values always encode
	}
	signer, err := standardwebhooks.NewSigner([]string{secretOf(w.seed, h.company, hooks)})
	if err != nil {
		panic(err) // the secret is a good one
	}
	now := time.Now().Unix()
	header := map[string]string{
		"Content-Type": "application/json", "Webhook-Id": h.id, "Webhook-Timestamp": strconv.FormatInt(now, 10), "Webhook-Signature": signer.Sign(h.id, now, body),
	}
	return events.APIGatewayProxyRequest{
		HTTPMethod: http.MethodPost, Path: "/inbound/" + h.company + "/" + hooks, Headers: header, Body: string(body),
		RequestContext: events.APIGatewayProxyRequestContext{RequestID: fmt.Sprintf("%s/%d", h.id, h.tries)},
	}
}

// checkAnswered checks that a webhook that was accepted took effect once, and that one without an answer took effect at most once.
func (w *world) checkAnswered(changes []store.Change, company string) {
	created := map[string]int{}
	for _, c := range changes {
		if c.Entity != memory.Entity || c.New == nil {
			continue
		}
		var m memory.Memory
		if err := json.Unmarshal(c.New.Body, &m); err != nil {
			w.violated("answered", "%s: %v", c.Key, err)
		}
		if strings.HasPrefix(m.ExternalID, "hook-") {
			created[m.ExternalID]++
		}
	}
	for _, h := range w.hooks {
		if h.company != company {
			continue
		}
		accepted := h.answered == http.StatusAccepted || h.answered == http.StatusOK
		switch n := created[h.id]; {
		case n > 1:
			w.violated("answered", "%s of %s took effect %d times", h.id, company, n)
		case n == 0 && accepted:
			w.violated("answered", "%s of %s was answered %d, and took no effect", h.id, company, h.answered)
		case !accepted && h.tries >= tries:
			w.violated("answered", "%s of %s was never accepted in %d tries", h.id, company, h.tries)
		}
	}
}

// configureHooks adds the integration of the webhooks.
func (w *world) configureHooks(company string) error {
	config := map[string]any{"url": "https://" + hooks + "." + company + ".test/", "events": []string{}}
	return w.configure(company, hooks, config, secretOf(w.seed, company, hooks), integration.InboundReceive, integration.MemoryUpsert)
}
