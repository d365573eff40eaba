package rehearsal

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// maxAnswer limits an answer that is kept, in bytes. It is more than a page may have.
const maxAnswer = 9 << 20

// Exchange is a request and its answer, without credentials. The request's headers are left out: they hold the credentials.
type Exchange struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Body   string      `json:"body,omitempty"`
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Answer string      `json:"answer"`
}

// wire sends the requests of a trial by the client, which obeys the rules about addresses, or answers them from a recording. It keeps what
// went over it.
type wire struct {
	client      *outbound.Client
	recorded    []Exchange
	credentials map[string]string
	exchanges   []Exchange
}

// taken returns the exchanges since the last call.
func (w *wire) taken() []Exchange {
	taken := w.exchanges
	w.exchanges = nil
	return taken
}

// hide puts … in place of the credentials.
func (w *wire) hide(text string) string { return connector.Hide(text, w.credentials) }

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	e, err := w.asked(r)
	if err != nil {
		return nil, err
	}
	if w.recorded != nil {
		e, err = answerOf(w.recorded, e)
	} else {
		err = e.send(w.client, r)
	}
	if err != nil {
		return nil, err
	}
	w.exchanges = append(w.exchanges, w.kept(e))
	return &http.Response{
		StatusCode: e.Status, Status: fmt.Sprint(e.Status), Header: e.Header.Clone(), Body: io.NopCloser(bytes.NewReader([]byte(e.Answer))),
		ContentLength: int64(len(e.Answer)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// kept returns an exchange without the credentials, which a server may send back.
func (w *wire) kept(e Exchange) Exchange {
	e.URL, e.Body, e.Answer = w.hide(e.URL), w.hide(e.Body), w.hide(e.Answer)
	header := http.Header{}
	for name, values := range e.Header {
		if name == "Set-Cookie" {
			continue
		}
		for _, value := range values {
			header.Add(name, w.hide(value))
		}
	}
	e.Header = header
	return e
}

// asked returns the request's part of an exchange. It can be shown: it has no credentials.
func (w *wire) asked(r *http.Request) (Exchange, error) {
	e := Exchange{Method: r.Method, URL: w.hide(r.URL.String())}
	if r.Body == nil {
		return e, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	e.Body = w.hide(string(body))
	return e, err
}

// send sends a request, and sets the answer.
func (e *Exchange) send(client *outbound.Client, r *http.Request) error {
	resp, err := client.Document(r, maxAnswer)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := outbound.ReadBody(resp, maxAnswer)
	e.Status, e.Header, e.Answer = resp.StatusCode, resp.Header.Clone(), string(body)
	for _, name := range []string{"Content-Encoding", "Content-Length", "Transfer-Encoding"} { // the answer is decoded
		e.Header.Del(name)
	}
	return err
}

// answerOf returns the first recorded exchange with a request.
func answerOf(recorded []Exchange, asked Exchange) (Exchange, error) {
	for _, e := range recorded {
		if e.Method == asked.Method && e.URL == asked.URL && e.Body == asked.Body {
			return e, nil
		}
	}
	return Exchange{}, fmt.Errorf("the recording has no answer to %s %s; record it again", asked.Method, asked.URL)
}
