// Package slacktest serves a Slack for tests, written from Slack's public documents: incoming webhooks, the installation of an app by
// OAuth, messages of an app, and the presses of their buttons (docs.slack.dev: messaging/sending-messages-using-incoming-webhooks,
// authentication/installing-with-oauth, reference/methods/chat.postMessage, chat.update and auth.revoke, interactivity/handling-user-interaction).
package slacktest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"orgops/shared/webhook/slack"
)

// Webhook is the path of the fake's incoming webhook.
const Webhook = "/services/T0001/B0001/secretsecretsecretsecret"

// Slack is a fake Slack. Its fields are set before it is asked.
type Slack struct {
	URL string

	mu       sync.Mutex
	posted   []slack.Message
	messages []Message
	whispers []string
	arrives  func()
	revoked  bool
	answers  []Answer
	requests int
}

// Answer replaces the answer to one request. The request then takes no effect.
type Answer struct {
	Status     int
	Text       string
	RetryAfter string
	Lost       bool // Slack takes the message, and the connection breaks before its answer
}

// New starts a Slack, which ends with the test.
func New(t testing.TB) *Slack {
	t.Helper()
	s := &Slack{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Webhook, s.webhook)
	mux.HandleFunc("POST /api/oauth.v2.access", s.exchange)
	mux.HandleFunc("POST /api/chat.postMessage", s.method)
	mux.HandleFunc("POST /api/chat.update", s.method)
	mux.HandleFunc("POST /api/auth.revoke", s.revoke)
	mux.HandleFunc("POST "+responses, s.whisper)
	mux.HandleFunc("POST /services/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no_service", http.StatusNotFound) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// WebhookURL returns the address of the fake's incoming webhook.
func (s *Slack) WebhookURL() string { return s.URL + Webhook }

// Next sets the answers to the next requests.
func (s *Slack) Next(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Posted returns the messages that Slack has taken.
func (s *Slack) Posted() []slack.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]slack.Message{}, s.posted...)
}

// Requests returns how many requests have arrived.
func (s *Slack) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// planned returns the answer that the test has set for the next request.
func (s *Slack) planned() (Answer, bool) {
	s.requests++
	if len(s.answers) == 0 {
		return Answer{}, false
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a, true
}

func (s *Slack) webhook(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var m slack.Message
	valid := err == nil && r.Header.Get("Content-Type") == "application/json" && json.Unmarshal(body, &m) == nil && m.Text != ""
	if !valid {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	a, planned := s.planned()
	if planned && !a.Lost {
		if a.RetryAfter != "" {
			w.Header().Set("Retry-After", a.RetryAfter)
		}
		http.Error(w, a.Text, a.Status)
		return
	}
	s.posted = append(s.posted, m)
	if a.Lost {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, "ok") // as an incoming webhook does
}
