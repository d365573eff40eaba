package soak_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

// tenant is a company with its founder's token.
type tenant struct {
	t         *testing.T
	base      string
	companyID string
	token     string
}

// refused is an answer other than 2xx.
type refused struct {
	status int
	text   string
}

func (r *refused) Error() string { return r.text }

// final reports whether a repetition of the request would be answered alike. A conflict ends when the first request does, which
// the client may have given up.
func final(err error) bool {
	var r *refused
	if !errors.As(err, &r) {
		return false
	}
	return r.status/100 == 4 && !slices.Contains([]int{http.StatusConflict, http.StatusTooManyRequests}, r.status)
}

// caller gives up on a request after some seconds, as a client of the API does.
var caller = &http.Client{Timeout: 10 * time.Second}

// send sends a request and decodes the answer's body. It returns an error unless the answer has a status of 2xx.
func (c *tenant) send(method, path string, body any, header http.Header, into any) error {
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		errtest.Must(c.t, err)
	}
	return c.sendBytes(method, path, text, header, into)
}

func (c *tenant) sendBytes(method, path string, body []byte, header http.Header, into any) error {
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, bytes.NewReader(body))
	errtest.Must(c.t, err)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	answer, err := caller.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		var problem struct{ Title, Detail string }
		_ = json.NewDecoder(answer.Body).Decode(&problem)
		return &refused{answer.StatusCode, fmt.Sprintf("%s %s: %d %s: %s", method, path, answer.StatusCode, problem.Title, problem.Detail)}
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// must is send for a request that must succeed.
func (c *tenant) must(method, path string, body, into any) {
	c.t.Helper()
	errtest.Must(c.t, c.send(method, path, body, nil, into))
}

// at returns a path of the company.
func (c *tenant) at(path string) string { return "/companies/" + c.companyID + path }

// memories returns the ids of the company's memories by provider.
func (c *tenant) memories() (map[string][]string, error) {
	all := map[string][]string{}
	for cursor := ""; ; {
		var page struct {
			Items      []struct{ ID, Provider string }
			NextCursor string
		}
		if err := c.send("GET", c.at("/memory?limit=100&cursor="+cursor), nil, nil, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Items {
			all[m.Provider] = append(all[m.Provider], m.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
	}
}
