package certify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/event"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/post"
	"orgops/shared/webhook/standardwebhooks"
)

// staleBy sets the age of the stale signature that an endpoint must refuse.
const staleBy = time.Hour

// endpoint proves that a webhook's receiver accepts a signed sample and refuses a badly signed or stale one.
func (e Examiner) endpoint(ctx context.Context, c Candidate) []integration.PortCheck {
	var conf struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	one := func(name, title string, o outcome) []integration.PortCheck {
		return []integration.PortCheck{check(c, integration.EventDeliver, name, title, o)}
	}
	if err := json.Unmarshal(c.Integration.Config, &conf); err != nil {
		return one("url-allowed", "The url may be sent to", failed("the configuration cannot be read; configure it again", configure))
	}
	if problems := e.Client.CheckURL("/url", conf.URL); len(problems) > 0 {
		return one("url-allowed", "The url may be sent to", failed(problems[0].Detail, configure))
	}
	hidden := c.Secrets.HeadersFor(outbound.Origin(conf.URL))
	right, err := post.NewTarget(conf.URL, c.Secrets.Live(e.Now()), conf.Headers, hidden)
	if err != nil {
		return one("accepts-signed", "A signed sample is answered 2xx", failed("there is no signing secret; rotate it to make one", rotate))
	}
	otherSecret, err := standardwebhooks.GenerateSecret(rand.Reader)
	if err != nil {
		return one("refuses-unsigned", "A badly signed sample is refused", failed("could not generate a test secret; try again", certify))
	}
	wrong, err := post.NewTarget(conf.URL, []string{otherSecret}, conf.Headers, hidden)
	if err != nil {
		return one("refuses-unsigned", "A badly signed sample is refused", failed("the url cannot be used", configure))
	}
	stale := func() time.Time { return e.Now().Add(-staleBy) }
	checks := concurrently([]func() []integration.PortCheck{
		func() []integration.PortCheck {
			return one("accepts-signed", "A signed sample is answered 2xx within 5 s", e.accepts(ctx, c, right))
		},
		func() []integration.PortCheck {
			return one("refuses-bad-signature", "A badly signed sample is refused", e.refuses(ctx, c, wrong, e.Now,
				"compute the HMAC-SHA256 of id.timestamp.body with the signing secret, compare it in constant time with webhook-signature, and answer 401 when they differ"))
		},
		func() []integration.PortCheck {
			return one("refuses-old-timestamp", "A sample signed an hour ago is refused", e.refuses(ctx, c, right, stale,
				"compare webhook-timestamp with the clock and answer 401 when they are more than five minutes apart"))
		},
	})
	return append(one("url-allowed", "The url may be sent to", passed("it meets the rules for outgoing requests")), checks...)
}

func (e Examiner) accepts(ctx context.Context, c Candidate, to *post.Target) outcome {
	o := e.send(ctx, c, to, e.Now)
	if o.Class == post.Delivered {
		return passed(fmt.Sprintf("answered %d after %d ms", o.Status, o.Latency.Milliseconds()), answered(o)...)
	}
	return failed(describe(o)+"; check that the receiver runs and verifies with this signing secret", elsewhere, answered(o)...)
}

// refuses passes only on a 4xx. No answer or a server error does not prove that the receiver checked the signature.
func (e Examiner) refuses(ctx context.Context, c Candidate, to *post.Target, now func() time.Time, advice string) outcome {
	o := e.send(ctx, c, to, now)
	if o.Status >= 400 && o.Status < 500 {
		return passed(fmt.Sprintf("answered %d", o.Status), answered(o)...)
	}
	return failed(describe(o)+", where 4xx was due; "+advice, elsewhere, answered(o)...)
}

// answered gives the status of an answer as evidence, if there was an answer.
func answered(o post.Result) []finding.Evidence {
	if o.Status == 0 {
		return nil
	}
	return []finding.Evidence{count("status of the answer", o.Status, "HTTP status")}
}

func describe(o post.Result) string {
	if o.Status != 0 {
		return fmt.Sprintf("answered %d", o.Status)
	}
	return "no answer: " + o.Err
}

func (e Examiner) send(ctx context.Context, c Candidate, to *post.Target, now func() time.Time) post.Result {
	sample := Sample(c.Company.ID(), c.Integration.Provider, e.Now().UTC())
	payload, err := sample.Payload()
	if err != nil {
		return post.Result{Err: "the sample cannot be made"}
	}
	return post.Send(ctx, e.Client, to, post.Message{ID: sample.ID, Body: payload, Timeout: post.FirstTimeout}, now)
}

// Sample makes the event that certifications and tests send. It reports no change.
func Sample(companyID, provider string, now time.Time) event.Event {
	data, err := json.Marshal(event.SampleData{Provider: provider, Message: "a sample: nothing happened"})
	if err != nil {
		data = json.RawMessage("{}")
	}
	return event.Event{ID: id.New(), Type: event.Sample, Timestamp: now, CompanyID: companyID, Data: data}
}
