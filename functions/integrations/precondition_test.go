package integrations_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/insight/projection"
)

// TestIfMatch binds each change of an integration to the version that the caller has read.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	body := map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}
	credentials := map[string]any{"credentials": map[string]string{"token": "t"}}
	tests := []struct {
		name, method, path string
		body               any
		status             int // of a change that is made
	}{
		{"configure", "POST", "/webhook", body, 200},
		{"delete", "DELETE", "/webhook", nil, 204},
		{"store credentials", "PUT", "/webhook/credentials", credentials, 204},
		{"destroy credentials", "DELETE", "/webhook/credentials", nil, 204},
		{"rotate the secret", "POST", "/webhook/secret", nil, 200},
		{"enable", "POST", "/webhook/enable", nil, 200},
		{"disable", "POST", "/webhook/disable", nil, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			old := s.do("POST", "/webhook", body).Want(201).Header.Get("ETag")
			s.do("POST", "/webhook/disable", nil).Want(200)
			read := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag")
			s.do(tt.method, tt.path, tt.body, "If-Match", old).WantProblem(412, "stale")
			current := s.do(tt.method, tt.path, tt.body, "If-Match", old).Header.Get("ETag")
			if version, _, _ := strings.Cut(read, "."); current != version+`"` {
				t.Errorf("ETag of the refusal %s, want the version of %s", current, read)
			}
			s.do(tt.method, tt.path, tt.body, "If-Match", "W/"+read).WantProblem(412, "stale")
			if got := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag"); got != read {
				t.Errorf("ETag %s after refused changes, want %s", got, read)
			}
			s.do(tt.method, tt.path, tt.body, "If-Match", old+", "+read).Want(tt.status)
		})
	}
}

// TestIfMatch_Facts makes a change although a delivery has changed the integration's health, and its ETag, in between.
func TestIfMatch_Facts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	read := s.do("POST", "/webhook", map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}).Want(201).Header.Get("ETag")
	facts := projection.Empty(s.A.ID)
	facts.ContextVersion = 7
	facts.Integrations["webhook"] = projection.Integration{LastSuccessAt: s.clock.Now()}
	s.learn(facts)
	if got := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag"); got == read {
		t.Fatalf("the ETag is still %s after a delivery", got)
	}
	s.do("DELETE", "/webhook", nil, "If-Match", read).Want(204)
}

// TestIfMatch_Recreated refuses the ETag of an integration that was deleted and configured again, with the same version.
func TestIfMatch_Recreated(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}
	old := s.do("POST", "/webhook", body).Want(201).Header.Get("ETag")
	s.do("DELETE", "/webhook", nil).Want(204)
	s.do("POST", "/webhook", body, "If-Match", old).WantProblem(412, "stale")
	s.do("POST", "/webhook", body, "If-Match", "*").WantProblem(412, "stale")
	s.clock.Advance(time.Second)
	s.do("POST", "/webhook", body).Want(201)
	s.do("DELETE", "/webhook", nil, "If-Match", old).WantProblem(412, "stale")
}

// TestIfNoneMatch creates an integration under a free name. What exists stays as it is, its certification too.
func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}
	other := map[string]any{"url": "https://other.example.com/", "events": []string{"memory.*"}}
	s.do("POST", "/webhook", body, "If-None-Match", "*").Want(201)
	read := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag")
	s.do("POST", "/webhook", other, "If-None-Match", "*").WantProblem(412, "already-exists")
	s.do("POST", "/webhook", other, "If-None-Match", read).WantProblem(412, "already-exists")
	if got := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag"); got != read {
		t.Errorf("ETag %s after a refused creation, want %s", got, read)
	}
	s.do("POST", "/webhook-other", other, "If-None-Match", "*").Want(201)
	s.do("POST", "/webhook", other, "If-Match", read).Want(200)
}

// TestIfNoneMatch_AtOnce creates an integration by twenty requests at once, of which one wins.
func TestIfNoneMatch_AtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}
	answers := make([]int, 20)
	var all sync.WaitGroup
	for n := range answers {
		all.Go(func() { answers[n] = s.do("POST", "/webhook", body, "If-None-Match", "*").Status })
	}
	all.Wait()
	count := map[int]int{}
	for _, status := range answers {
		count[status]++
	}
	if count[201] != 1 {
		t.Errorf("answers %v, want one 201", count)
	}
	if count[412] != 19 {
		t.Errorf("answers %v, want nineteen 412", count)
	}
}
