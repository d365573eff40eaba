package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

// workload writes to a company, and knows what must follow.
type workload struct {
	*tenant
	secret            string
	first, later      *receiver // the later one refuses each third event at first
	receivers, source *link

	writing sync.WaitGroup
	written int
}

// every is the time between two writes.
const every = 50 * time.Millisecond

// write sends webhooks and asks for a sync, until stop is closed. What is not accepted is sent again until it is, as
// providers do.
func (l *workload) write(stop <-chan struct{}) {
	l.writing.Go(func() {
		l.insist("a sync", func() error {
			return l.send("POST", l.at("/memory/sync/feed"), nil, http.Header{"Idempotency-Key": {"soak"}}, nil)
		})
	})
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		select {
		case <-stop:
			return
		case <-again.C:
			n := l.written
			l.written++
			l.writing.Go(func() { l.insist("a webhook", func() error { return l.post(n) }) })
		}
	}
}

// insist repeats a request until it succeeds, or the test ends.
func (l *workload) insist(what string, request func() error) {
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	for {
		err := request()
		if err == nil {
			return
		}
		if final(err) {
			l.t.Errorf("%s was refused: %v", what, err)
			return
		}
		select {
		case <-ctx.Done():
			l.t.Errorf("%s was not accepted within %v: %v", what, patience, err)
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// post sends webhook n, which creates a memory.
func (l *workload) post(n int) error {
	signer, err := standardwebhooks.NewSigner([]string{l.secret})
	errtest.Must(l.t, err)
	body := fmt.Appendf(nil, `{"type":"memory.upsert","data":{"externalId":"ticket-%d","kind":"ticket","title":"Ticket %d"}}`, n, n)
	return l.sendBytes("POST", "/inbound/"+l.companyID+"/webhook", body, signer.Headers(fmt.Sprintf("msg-%d", n), body, time.Now()), nil)
}

// patience bounds the wait for any effect. The longest is that of an endpoint whose second attempt has failed: 5 minutes and
// a fifth.
const patience = 8 * time.Minute
