package integrations_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/webtest"
)

// sent returns the last value that the receiver got of a header, "" if its last request had none.
func (r *receiver) sent(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) == 0 {
		return ""
	}
	return r.got[len(r.got)-1].Get(name)
}

func (s *service) wantCredentials(i shown, want ...string) {
	s.t.Helper()
	var got []string
	if i.Credentials != nil {
		got = i.Credentials.Names
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("credentials %q, want %q", got, want)
	}
}

// endpoint returns the body that configures an endpoint with secret headers, or without the field if they are nil.
func endpoint(url string, headers map[string]string) map[string]any {
	body := map[string]any{"url": url, "events": []string{"*"}, "signingSecret": given}
	if headers != nil {
		body["secretHeaders"] = headers
	}
	return body
}

// TestSecretHeaders sends an endpoint's secret headers with tests and certifications, to the origin that they were stored for alone,
// and shows only their names.
func TestSecretHeaders(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r, other := receive(t, s.verifying(given)), receive(t, s.verifying(given))
	const first, second = "Bearer one-secret-token", "Bearer next-secret-token"
	test := func(want string, to *receiver) {
		t.Helper()
		s.do("POST", "/webhook/test", nil).Want(200)
		if got := to.sent("Authorization"); got != want {
			t.Errorf("the test has the authorization %q, want %q", got, want)
		}
	}
	var created shown
	answer := s.do("POST", "/webhook", endpoint(r.URL, map[string]string{"authorization": first, "X-Key": "k"})).Want(201)
	answer.JSON(&created)
	s.wantCredentials(created, "X-Key", "authorization")
	test(first, r)
	s.do("POST", "/webhook/certification", nil).Want(200)
	if got := r.sent("Authorization"); got != first {
		t.Errorf("the certification has the authorization %q, want %q", got, first)
	}
	s.configured("webhook", endpoint(r.URL+"/path", nil), 200)
	test(first, r)
	s.configured("webhook", endpoint(r.URL, map[string]string{"Authorization": second}), 200)
	test(second, r)
	s.wantCredentials(s.configured("webhook", endpoint(other.URL, nil), 200))
	test("", other)
	s.do("PUT", "/webhook/credentials", map[string]any{"credentials": map[string]string{"Authorization": first}}).Want(204)
	test(first, other)
	s.wantCredentials(s.configured("webhook", endpoint(r.URL, map[string]string{"Authorization": second}), 200), "Authorization")
	test(second, r)
	s.wantCredentials(s.configured("webhook", endpoint(r.URL, map[string]string{}), 200))
	test("", r)
	all := [][]byte{answer.Body}
	for _, path := range []string{"", "/webhook", "/webhook/certification"} {
		all = append(all, s.do("GET", path, nil).Want(200).Body)
	}
	for _, body := range all {
		s.keepsOut(body, first, second)
	}
}

// TestSecretHeaders_Refused refuses names and values that no request may have, in either way to store them.
func TestSecretHeaders_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	for name, value := range map[string]string{
		"webhook-id": "x", "Transfer-Encoding": "chunked", "Proxy-Authorization": "x", "Host": "example.com", "Content-Type": "text/plain", "X-Key": "two\nlines",
	} {
		body := endpoint("https://example.com/", map[string]string{name: value})
		wantPointer(t, s.do("POST", "/webhook", body), "/secretHeaders/"+name)
		wantPointer(t, s.do("PUT", "/webhook/credentials", map[string]any{"credentials": map[string]string{name: value}}), "/credentials/"+name)
	}
	s.do("POST", "/webhook", endpoint("https://example.com/", map[string]string{"X-Key": "a", "x-key": "b"})).WantProblem(422, "invalid")
	s.do("POST", "/webhook", map[string]any{"url": "https://example.com/", "events": []string{"*"}, "headers": map[string]string{"Authorization": "x"}}).
		WantProblem(422, "invalid")
}

func wantPointer(t *testing.T, r *webtest.Response, want ...string) {
	t.Helper()
	var got []string
	for _, e := range r.WantProblem(http.StatusUnprocessableEntity, "invalid").Errors {
		got = append(got, e.Pointer)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pointers differ (-want +got):\n%s", diff)
	}
}

// TestCredentials_Unused refuses credentials of a kind that uses none.
func TestCredentials_Unused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	s.do("PUT", "/feed/credentials", map[string]any{"credentials": map[string]string{"token": "x"}}).WantProblem(409, "conflict")
	s.wantCredentials(s.get("feed"))
}
