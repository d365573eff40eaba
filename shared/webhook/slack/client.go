package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/webhook/outbound"
)

// Home is where Slack is. ORGOPS_SLACK_URL names another place, for tests.
const Home = "https://slack.com"

// hooks is the origin of Slack's incoming webhooks.
const hooks = "https://hooks.slack.com:443"

// Limits of one request.
const (
	timeout   = 10 * time.Second
	maxAnswer = 64 << 10
)

// Waits of a channel that Slack throttles: without a time from Slack, and at most.
const (
	usualWait = 30 * time.Second
	mostWait  = time.Hour
)

// Client sends to Slack.
type Client struct {
	Out *outbound.Client
	URL string // Home, or where a test's Slack is
	Now func() time.Time
}

// ErrUnknown reports that a request was sent and its answer was lost: Slack may have taken the message.
var ErrUnknown = errors.New("slack gave no answer; it may have taken the message")

// RefusedError reports that a repeat cannot succeed.
type RefusedError struct{ Code string } // as Slack names it

func (e *RefusedError) Error() string { return "Slack refused it: " + e.Code }

// WaitError reports that Slack takes no message for a while.
type WaitError struct{ For time.Duration }

func (e *WaitError) Error() string { return fmt.Sprintf("slack asks to wait for %s", e.For) }

// CheckWebhook says what is wrong with the address of an incoming webhook, "" if nothing is.
func (c Client) CheckWebhook(address string) string {
	if problems := c.Out.CheckURL("", address); len(problems) > 0 {
		return problems[0].Detail
	}
	if outbound.Origin(address) != c.hooks() || !strings.HasPrefix(pathOf(address), "/services/") {
		return "must be the address of an incoming webhook of Slack, such as https://hooks.slack.com/services/T…/B…/…"
	}
	return ""
}

func (c Client) hooks() string {
	if c.URL == Home {
		return hooks
	}
	return outbound.Origin(c.URL)
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// Post sends a message to an incoming webhook. It returns a RefusedError, a WaitError, ErrUnknown, or another error if Slack has not
// taken the message and a repeat may succeed. No error shows the address, which is a secret.
func (c Client) Post(ctx context.Context, webhook string, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx = outbound.WithOrigin(ctx, c.hooks())
	status, header, answer, err := c.send(ctx, webhook, "application/json", "", body)
	if err != nil {
		return err
	}
	return c.judge(status, header, codeOf(string(answer)))
}

// codePattern is the form of the codes of Slack's errors, such as no_service.
const codePattern text.Pattern = `^[a-z0-9_]{1,64}$`

// codeOf returns a code that Slack sent. Any other text is not shown: it may hold what was sent.
func codeOf(text string) string {
	if text = strings.TrimSpace(text); codePattern.Matches(text) {
		return text
	}
	return "no reason given"
}

// judge says what the status of an answer means.
func (c Client) judge(status int, header http.Header, code string) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusTooManyRequests:
		return &WaitError{max(outbound.RetryAfter(header, c.Now(), usualWait, mostWait), time.Second)}
	case status >= http.StatusInternalServerError:
		return errors.New("slack answered " + strconv.Itoa(status))
	}
	return &RefusedError{fmt.Sprintf("%d %s", status, code)}
}

// send makes one POST. An error after the request was written is ErrUnknown.
func (c Client) send(ctx context.Context, address, contentType, bearer string, body []byte) (int, http.Header, []byte, error) {
	var written atomic.Bool
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, errors.New("the address cannot be used")
	}
	r.GetBody = nil // a request that may have arrived is not sent again
	r.Header.Set("Content-Type", contentType)
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	resp, err := c.Out.Do(r)
	if err != nil && written.Load() {
		return 0, nil, nil, ErrUnknown
	}
	if err != nil {
		return 0, nil, nil, errors.New(outbound.Explain(err))
	}
	defer resp.Body.Close()
	answer, err := outbound.ReadBody(resp, maxAnswer)
	if err != nil && resp.StatusCode == http.StatusOK {
		return 0, nil, nil, ErrUnknown
	}
	return resp.StatusCode, resp.Header, answer, nil
}
