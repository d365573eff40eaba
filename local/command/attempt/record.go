package attempt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// maxAnswer limits an answer that is recorded, in bytes. It is more than a page may have.
const maxAnswer = 9 << 20

// exchange is a request and its answer, as a recording keeps them. The request's headers are left out: they hold the credentials.
type exchange struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Body   string      `json:"body,omitempty"`
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Answer string      `json:"answer"`
}

// hidden returns an exchange without the credentials, which a server may send back.
func (a *attempt) hidden(e exchange) exchange {
	hide := a.hide
	e.URL, e.Body, e.Answer = hide(e.URL), hide(e.Body), hide(e.Answer)
	header := http.Header{}
	for name, values := range e.Header {
		if name == "Set-Cookie" {
			continue
		}
		for _, value := range values {
			header.Add(name, hide(value))
		}
	}
	e.Header = header
	return e
}

// hide puts … in place of the credentials.
func (a *attempt) hide(text string) string { return connector.Hide(text, a.credentials) }

// asked returns the request's part of an exchange. It can be shown: it has no credentials.
func (a *attempt) asked(r *http.Request) (exchange, error) {
	e := exchange{Method: r.Method, URL: a.hide(r.URL.String())}
	if r.Body == nil {
		return e, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	e.Body = a.hide(string(body))
	return e, err
}

// send sends a request, and sets the answer.
func (e *exchange) send(client *outbound.Client, r *http.Request) error {
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
func answerOf(recorded []exchange, asked exchange) (exchange, error) {
	for _, e := range recorded {
		if e.Method == asked.Method && e.URL == asked.URL && e.Body == asked.Body {
			return e, nil
		}
	}
	return exchange{}, fmt.Errorf("the recording has no answer to %s %s; record it again", asked.Method, asked.URL)
}

// load reads a recording.
func load(file string) (all []exchange, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all = []exchange{}
	for decoder := json.NewDecoder(bytes.NewReader(raw)); decoder.More(); {
		var e exchange
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("--replay: %s is no recording: %w", file, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// save writes the recording, a line each exchange. Only the user can read the file: the answers are the company's.
func (a *attempt) save(file string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, e := range a.exchanges {
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(file, text.Bytes(), 0o600)
}
