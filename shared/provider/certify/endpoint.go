package certify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/standardwebhooks"
)

// staleBy sets the age of the stale signature that an endpoint must refuse.
const staleBy = time.Hour

// endpoint proves that a webhook's receiver accepts a signed sample and refuses a badly signed or stale one.
func (e Examiner) endpoint(ctx context.Context, c Candidate) []integration.Check {
	var conf struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(c.Integration.Config, &conf); err != nil {
		return []integration.Check{deliver("url-allowed", "The url is allowed", integration.Fail, "the configuration cannot be read; configure it again")}
	}
	if problems := e.Client.CheckURL("/url", conf.URL); len(problems) > 0 {
		return []integration.Check{deliver("url-allowed", "The url is allowed", integration.Fail, problems[0].Detail)}
	}
	right, err := courier.NewTarget(conf.URL, c.Secrets.Live(e.Now()), conf.Headers)
	if err != nil {
		return []integration.Check{deliver("accepts-signed", "A signed sample is answered 2xx", integration.Fail, "there is no signing secret; rotate it to make one")}
	}
	otherSecret, err := standardwebhooks.GenerateSecret(rand.Reader)
	if err != nil {
		return []integration.Check{deliver("refuses-unsigned", "A badly signed sample is refused", integration.Fail, "could not generate a test secret; try again")}
	}
	wrong, err := courier.NewTarget(conf.URL, []string{otherSecret}, conf.Headers)
	if err != nil {
		return []integration.Check{deliver("refuses-unsigned", "A badly signed sample is refused", integration.Fail, "the url cannot be used")}
	}
	stale := func() time.Time { return e.Now().Add(-staleBy) }
	checks := concurrently([]func() []integration.Check{
		func() []integration.Check { return []integration.Check{e.accepts(ctx, c, right)} },
		func() []integration.Check {
			return []integration.Check{e.refuses(ctx, c, wrong, e.Now, "refuses-bad-signature", "A badly signed sample is refused",
				"compute the HMAC-SHA256 of id.timestamp.body with the signing secret, compare it in constant time with webhook-signature, and answer 401 when they differ")}
		},
		func() []integration.Check {
			return []integration.Check{e.refuses(ctx, c, right, stale, "refuses-old-timestamp", "A sample signed an hour ago is refused",
				"compare webhook-timestamp with the clock and answer 401 when they are more than five minutes apart")}
		},
	})
	url := deliver("url-allowed", "The url is allowed", integration.Pass, "the url meets the rules for outgoing requests")
	return append([]integration.Check{url}, checks...)
}

func (e Examiner) accepts(ctx context.Context, c Candidate, to *courier.Target) integration.Check {
	const name, title = "accepts-signed", "A signed sample is answered 2xx within 5 s"
	o := e.send(ctx, c, to, e.Now)
	if o.Class == courier.Delivered {
		return deliver(name, title, integration.Pass, fmt.Sprintf("answered %d after %d ms", o.Status, o.Latency.Milliseconds()))
	}
	return deliver(name, title, integration.Fail, describe(o)+"; check that the receiver runs and verifies with this signing secret")
}

// refuses passes only on a 4xx. No answer or a server error does not prove that the receiver checked the signature.
func (e Examiner) refuses(ctx context.Context, c Candidate, to *courier.Target, now func() time.Time, name, title, remedy string) integration.Check {
	o := e.send(ctx, c, to, now)
	if o.Status >= 400 && o.Status < 500 {
		return deliver(name, title, integration.Pass, fmt.Sprintf("answered %d", o.Status))
	}
	return deliver(name, title, integration.Fail, describe(o)+", but 4xx was expected; "+remedy)
}

func describe(o courier.Outcome) string {
	if o.Status != 0 {
		return fmt.Sprintf("answered %d", o.Status)
	}
	return "no answer: " + o.Err
}

func (e Examiner) send(ctx context.Context, c Candidate, to *courier.Target, now func() time.Time) courier.Outcome {
	sample := Sample(c.Company.ID(), c.Integration.Provider, e.Now().UTC())
	payload, err := sample.Payload()
	if err != nil {
		return courier.Outcome{Err: "the sample cannot be made"}
	}
	return courier.Send(ctx, e.Client, to, courier.Message{ID: sample.ID, Body: payload, Timeout: courier.FirstTimeout}, now)
}

// Sample makes the event that certifications and tests send. It reports no change.
func Sample(companyID, provider string, now time.Time) event.Event {
	data, err := json.Marshal(map[string]string{"provider": provider, "message": "a sample: nothing happened"})
	if err != nil {
		data = json.RawMessage("{}")
	}
	return event.Event{ID: id.New(), Type: event.Sample, Timestamp: now, CompanyID: companyID, Data: data}
}

func deliver(name, title string, status integration.Result, reason string) integration.Check {
	return integration.Check{ID: name, Title: title, Port: integration.EventDeliver, Status: status, Reason: reason, Required: true}
}
