package trigger

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/base/id"
	"orgops/shared/webhook/standardwebhooks"
)

// provider names the integration that receives the webhooks. It is certified for receiving alone, so it needs no endpoint;
// its url leads nowhere (RFC 2606).
const (
	provider = "webhook-trigger"
	nowhere  = "https://trigger.invalid/"
)

// secretGrace sets how many seconds the secret of an earlier run stays valid, because that run may be under way.
const secretGrace = 60

// sender signs webhooks for the integration.
type sender struct {
	api    *apiclient.Client
	signer *standardwebhooks.Signer
}

// newSender gives the integration a new secret. It creates and certifies the integration if need be.
func newSender(ctx context.Context, api *apiclient.Client) (*sender, error) {
	secret, err := standardwebhooks.GenerateSecret(rand.Reader)
	if err != nil {
		return nil, err
	}
	signer, err := standardwebhooks.NewSigner([]string{secret})
	if err != nil {
		return nil, err
	}
	const at = "/integrations/" + provider
	var found struct {
		State string `json:"state"`
		URL   string `json:"url"`
	}
	err = api.Do(ctx, http.MethodGet, at, nil, &found)
	switch {
	case apiclient.StatusOf(err) == http.StatusNotFound:
		err = api.Create(ctx, at, map[string]any{
			"url": nowhere, "events": []string{"timeline.*"}, "signingSecret": secret, "description": "Receives what orgops trigger sends.",
			"permissions": []string{"inbound.receive", "memory.upsert", "goal.update", "timeline.note"},
		}, &found)
	case err == nil && found.URL != nowhere:
		return nil, fmt.Errorf("the endpoint %s sends to %s, so orgops trigger did not make it and does not change its secret; give that endpoint another name first", provider, found.URL)
	case err == nil:
		err = api.Do(ctx, http.MethodPost, at+"/secret", map[string]any{"signingSecret": secret, "graceSeconds": secretGrace}, nil)
	}
	if err != nil {
		return nil, err
	}
	if found.State != "certified" {
		if err := certify(ctx, api); err != nil {
			return nil, err
		}
	}
	return &sender{api: api, signer: signer}, nil
}

func certify(ctx context.Context, api *apiclient.Client) error {
	var report struct {
		Passed bool `json:"passed"`
		Checks []struct {
			Status string `json:"status"`
			Reason string `json:"reason"`
		} `json:"checks"`
	}
	if err := api.Do(ctx, http.MethodPost, "/integrations/"+provider+"/certification", nil, &report); err != nil {
		return err
	}
	if report.Passed {
		return nil
	}
	for _, c := range report.Checks {
		if c.Status == "fail" {
			return fmt.Errorf("the certification of %s did not pass: %s", provider, c.Reason)
		}
	}
	return fmt.Errorf("the certification of %s did not pass; see GET …/integrations/%[1]s/certification", provider)
}

// result says what became of an action.
type result struct {
	Action     string `json:"action"`
	Verdict    string `json:"verdict"`
	DecisionID string `json:"decisionId"`
	Outcome    string `json:"outcome"`
	Subject    string `json:"subject"`
	ApprovalID string `json:"approvalId"`
}

// send sends one webhook. It returns an error unless the action took effect.
func (s *sender) send(ctx context.Context, b body) (result, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return result{}, err
	}
	var receipt struct {
		Results []result `json:"results"`
	}
	if err := s.api.Inbound(ctx, provider, s.signer.Headers("msg_"+id.New(), text, time.Now()), text, &receipt); err != nil {
		return result{}, err
	}
	if len(receipt.Results) != 1 {
		return result{}, fmt.Errorf("%s: the webhook gave %d actions instead of one; the mapping of %s may have been changed", b.Type, len(receipt.Results), provider)
	}
	r := receipt.Results[0]
	switch {
	case r.ApprovalID != "":
		return r, fmt.Errorf("%s waits for the approval %s; the event follows when a founder approves it", r.Action, r.ApprovalID)
	case r.Verdict != "permitted":
		return r, fmt.Errorf("%s was %s; the decision %s says by which policies", r.Action, r.Verdict, r.DecisionID)
	}
	return r, nil
}
