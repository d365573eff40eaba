package certify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/event"
	"orgops/shared/id"
	"orgops/shared/integration"
	"orgops/shared/webhook"
)

// staleBy is how old the signature of the sample is that an endpoint must refuse.
const staleBy = time.Hour

// endpoint proves that a webhook's receiver takes what is signed and refuses what is not.
func (e Examiner) endpoint(ctx context.Context, c Candidate) []integration.Check {
	var conf struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(c.Integration.Config, &conf); err != nil {
		return []integration.Check{deliver("url-allowed", "The url may be sent to", integration.Fail, "the configuration cannot be read; configure it again")}
	}
	if problems := e.Client.CheckURL("/url", conf.URL); len(problems) > 0 {
		return []integration.Check{deliver("url-allowed", "The url may be sent to", integration.Fail, problems[0].Detail)}
	}
	right, err := webhook.NewEndpoint(conf.URL, c.Secrets.Live(e.Now()), conf.Headers)
	if err != nil {
		return []integration.Check{deliver("accepts-signed", "A signed sample is answered 2xx", integration.Fail, "there is no signing secret; rotate it to make one")}
	}
	stranger, err := webhook.GenerateSecret(rand.Reader)
	if err != nil {
		return []integration.Check{deliver("refuses-unsigned", "A badly signed sample is refused", integration.Fail, "no random numbers; try again")}
	}
	wrong, err := webhook.NewEndpoint(conf.URL, []string{stranger}, conf.Headers)
	if err != nil {
		return []integration.Check{deliver("refuses-unsigned", "A badly signed sample is refused", integration.Fail, "the url cannot be used")}
	}
	long := func() time.Time { return e.Now().Add(-staleBy) }
	checks := together([]func() []integration.Check{
		func() []integration.Check { return []integration.Check{e.accepts(ctx, c, right)} },
		func() []integration.Check {
			return []integration.Check{e.refuses(ctx, c, wrong, e.Now, "refuses-bad-signature", "A badly signed sample is refused",
				"compute the HMAC-SHA256 of id.timestamp.body with the signing secret, compare it in constant time with webhook-signature, and answer 401 when they differ")}
		},
		func() []integration.Check {
			return []integration.Check{e.refuses(ctx, c, right, long, "refuses-old-timestamp", "A sample signed an hour ago is refused",
				"compare webhook-timestamp with the clock and answer 401 when they are more than five minutes apart")}
		},
	})
	url := deliver("url-allowed", "The url may be sent to", integration.Pass, "it meets the rules for outgoing requests")
	return append([]integration.Check{url}, checks...)
}

func (e Examiner) accepts(ctx context.Context, c Candidate, to *webhook.Endpoint) integration.Check {
	const name, title = "accepts-signed", "A signed sample is answered 2xx within 5 s"
	o := e.send(ctx, c, to, e.Now)
	if o.Class == webhook.Delivered {
		return deliver(name, title, integration.Pass, fmt.Sprintf("answered %d after %d ms", o.Status, o.Latency.Milliseconds()))
	}
	return deliver(name, title, integration.Fail, seen(o)+"; check that the receiver runs and verifies with this signing secret")
}

// refuses passes on a 4xx alone: no answer, or a server error, does not show that the signature was looked at.
func (e Examiner) refuses(ctx context.Context, c Candidate, to *webhook.Endpoint, now func() time.Time, name, title, remedy string) integration.Check {
	o := e.send(ctx, c, to, now)
	if o.Status >= 400 && o.Status < 500 {
		return deliver(name, title, integration.Pass, fmt.Sprintf("answered %d", o.Status))
	}
	return deliver(name, title, integration.Fail, seen(o)+", where 4xx was due; "+remedy)
}

func seen(o webhook.Outcome) string {
	if o.Status != 0 {
		return fmt.Sprintf("answered %d", o.Status)
	}
	return "no answer: " + o.Err
}

func (e Examiner) send(ctx context.Context, c Candidate, to *webhook.Endpoint, now func() time.Time) webhook.Outcome {
	sample := Sample(c.Company.ID(), c.Integration.Provider, e.Now().UTC())
	payload, err := sample.Payload()
	if err != nil {
		return webhook.Outcome{Err: "the sample cannot be made"}
	}
	return webhook.Send(ctx, e.Client, to, webhook.Message{ID: sample.ID, Body: payload, Timeout: webhook.FirstTimeout}, now)
}

// Sample is the event that certifications and tests send. It stands for no change.
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
