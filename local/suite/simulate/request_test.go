package simulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// wish is a request that a user sends until it is answered. The user knows only what was answered.
type wish struct {
	company, as string // whose token
	of          string // the company of the path, if it is another one
	method      string
	path        string // below the company
	body        any    // nil: none
	key         string // Idempotency-Key
	match       string // If-Match

	want    []int    // statuses that a final answer may have
	mark    string   // a text that the request writes, "" for a read
	writes  []effect // where the mark is then
	tries   []string // the ids of the requests
	gone    bool     // its records are erased with the company
	repeat  bool     // it was answered before, so it changes nothing and need not be recorded
	clean   bool     // no call of the invocation that answered had a fault
	unsure  bool     // a try may have taken effect without an answer
	status  int      // of the last answer
	reply   string
	etag    string
	problem string
}

// patient bounds how often a user sends a request. The faults end within an hour, and each try waits longer than the one before.
const patient = 40

// insist sends a request until its answer is final, and records it. want lists the statuses that the final answer may have.
func (cl client) insist(ctx context.Context, v *wish, want ...int) error {
	if v.company == "" {
		v.company = cl.c.ID()
	}
	if v.as == "" {
		v.as = "ada"
	}
	v.want = want
	for range patient {
		if err := cl.try(ctx, v); err != nil {
			return err
		}
		if v.final() {
			return nil
		}
		if err := cl.pause(ctx, time.Duration(len(v.tries))*10*time.Second); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s %s of %s has no final answer after %d tries, the last one %d: %s", v.method, v.path, v.company, len(v.tries), v.status, v.reply)
}

// final reports whether a repeat of the request would get the same answer.
func (v *wish) final() bool {
	switch {
	case v.status == 0, v.status >= 500, v.status == http.StatusTooManyRequests:
		return false
	case v.status == http.StatusConflict:
		return v.problem == "approval-decided" || strings.Contains(v.reply, "nothing is left to decide")
	}
	return true
}

// succeeded reports whether the request was answered as done.
func (v *wish) succeeded() bool { return v.status >= 200 && v.status < 300 }

// try sends a request once. The answer is read in a step of the scheduler, because several may arrive at one time.
func (cl client) try(ctx context.Context, v *wish) error {
	e, err := v.event(cl.e.name)
	if err != nil {
		return err
	}
	out, by, missing := cl.request(ctx, e)
	return cl.w.ask(ctx, &call{id: cl.e.who(ctx) + " reads the answer", kind: gate, do: func() error {
		if len(v.tries) == 1 {
			cl.w.wishes = append(cl.w.wishes, v)
		}
		cl.w.read(v, out, missing)
		v.clean = by != nil && !by.faulted
		return nil
	}})
}

// read records an answer, or that the gateway had no answer.
func (w *world) read(v *wish, out events.APIGatewayProxyResponse, missing error) {
	v.status, v.reply, v.etag, v.problem = 0, "", "", ""
	requestID := v.tries[len(v.tries)-1]
	if missing != nil {
		v.unsure = true
		w.trace.add("%s has no answer", requestID)
		return
	}
	v.status, v.reply = out.StatusCode, out.Body
	w.trace.add("%s is answered %d: %s", requestID, v.status, v.reply)
	v.unsure = v.unsure || v.status >= 500
	for name, values := range out.MultiValueHeaders {
		if strings.EqualFold(name, "ETag") {
			v.etag = values[0]
		}
	}
	var p struct{ Type string }
	if v.status >= 400 && json.Unmarshal([]byte(out.Body), &p) == nil {
		v.problem = strings.TrimPrefix(p.Type, "/problems/")
	}
	w.checkAnswer(v, out)
	if v.final() && !slices.Contains(v.want, v.status) {
		w.violated("statuses", "%s %s of %s is answered %d, want one of %d: %s", v.method, v.path, v.company, v.status, v.want, v.reply)
	}
}

// event returns the request as API Gateway hands it on. The ids of requests follow from the seed.
func (v *wish) event(client string) (e events.APIGatewayProxyRequest, err error) {
	requestID := id.Of("request", client, v.company, v.method, v.path, v.key, v.mark, v.as, fmt.Sprint(len(v.tries)))
	v.tries = append(v.tries, requestID)
	of := v.of
	if of == "" {
		of = v.company
	}
	header := map[string]string{"Authorization": "Bearer " + v.as + "." + v.company}
	for name, value := range map[string]string{"Idempotency-Key": v.key, "If-Match": v.match} {
		if value != "" {
			header[name] = value
		}
	}
	body := ""
	if v.body != nil {
		raw, err := json.Marshal(v.body)
		if err != nil {
			return e, err
		}
		body, header["Content-Type"] = string(raw), "application/json"
	}
	return events.APIGatewayProxyRequest{
		HTTPMethod: v.method, Path: "/companies/" + of + v.path, Headers: header, Body: body,
		RequestContext: events.APIGatewayProxyRequestContext{RequestID: requestID},
	}, nil
}

// internals lists texts of the simulated drivers, of the store and of Go that no answer may show.
func internals() []string {
	return []string{"killed", "keys are", "store:", "queue:", "vault:", store.ErrUnavailable.Error(), "C#", "DUE#", "goroutine", ".go:", "runtime error", "context deadline", "context canceled"}
}

// checkAnswer checks what holds of each answer: it is no internal error, shows nothing of the inside, and no other company.
func (w *world) checkAnswer(v *wish, out events.APIGatewayProxyResponse) {
	if out.StatusCode >= 500 && out.StatusCode != http.StatusServiceUnavailable {
		w.violated("statuses", "%s %s is answered %d: %s", v.method, v.path, out.StatusCode, out.Body)
	}
	if out.StatusCode >= 400 {
		for _, text := range internals() {
			if strings.Contains(out.Body, text) {
				w.violated("leaks", "%s %s is answered with %q: %s", v.method, v.path, text, out.Body)
			}
		}
	}
	for _, other := range append([]string{elder}, w.companies...) {
		if other != v.company && strings.Contains(out.Body, other) {
			w.violated("isolation", "%s %s of %s is answered with %s: %s", v.method, v.path, v.company, other, out.Body)
		}
	}
}
