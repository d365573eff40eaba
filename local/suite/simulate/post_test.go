package simulate_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"

	"orgops/shared/storage/mail"
)

// mails counts what a host has taken: the mail host by the ids of the mails, Slack by the paths of the channels.
type mails struct {
	mu    sync.Mutex
	taken map[string]int
}

// errLost reports a mail whose answer was lost, after the host had taken it or before.
var errLost = errors.New("the connection was lost")

// postOf is the mail host as an environment reaches it.
type postOf struct{ e *environment }

// Send implements mail.Sender. With the faults of the network a connection is lost, half of the time after the mail was taken.
func (p postOf) Send(ctx context.Context, m mail.Message) error {
	if err := p.e.begin(ctx); err != nil {
		return err
	}
	lost := !p.e.w.calm && p.e.roll() < 0.1
	if lost && p.e.roll() < 0.5 || p.e.w.mailless() {
		return errLost
	}
	p.e.w.mailed.take(m.ID)
	if lost {
		return errLost
	}
	return p.e.begin(ctx) // the environment may die before it notes the answer
}

// slack posts to a channel of Slack as an environment reaches it. A crowded one throttles every third message.
func (t transport) slack(r *http.Request) (*http.Response, error) {
	ctx, status := r.Context(), http.StatusOK
	if err := t.e.begin(ctx); err != nil {
		return nil, err
	}
	if t.e.roll() < 0.3 {
		status = http.StatusTooManyRequests
	}
	if status == http.StatusOK {
		t.e.w.posted.take(r.URL.Path)
	}
	httptrace.ContextClientTrace(ctx).WroteHeaders()
	answer := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"40"}}, Body: http.NoBody, Request: r}
	return answer, t.e.begin(ctx) // the environment may die before it notes the answer
}

func (p *mails) take(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[id]++
}

// of returns how often the host took a mail.
func (p *mails) of(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[id]
}
