package slacktest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	"orgops/shared/webhook/slack"
)

// What the fake knows: the app, its workspace, a channel, and the token and the code of an installation.
const (
	AppID   = "A0001"
	Team    = "T0001"
	Channel = "C0001"
	Token   = "xoxb-fake-token-of-the-app"
	Code    = "code-of-an-installation"

	OtherTeam = "T0002"
	OtherCode = "code-of-an-installation-in-another-workspace"

	responses = "/actions/T0001/1/secret"
)

// App returns the operator's registration of the app.
func App() slack.App {
	return slack.App{ClientID: "1.2", ClientSecret: "client-secret", SigningSecret: "signing-secret"}
}

// Message is a message of the app, as it stands now.
type Message struct {
	slack.Message

	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Edits   int
}

// Buttons returns the values of the message's buttons by their actions.
func (m Message) Buttons() map[string]string {
	all := map[string]string{}
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			if element, ok := e.(map[string]any); ok && element["type"] == "button" {
				all[fmt.Sprint(element["action_id"])] = fmt.Sprint(element["value"])
			}
		}
	}
	return all
}

// Texts returns all text of the message.
func (m Message) Texts() string {
	all := []string{m.Text}
	for _, b := range m.Blocks {
		if b.Text != nil {
			all = append(all, b.Text.Text)
		}
		for _, f := range b.Fields {
			all = append(all, f.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Messages returns the messages of the app.
func (s *Slack) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message{}, s.messages...)
}

// Whispers returns what persons were told alone.
func (s *Slack) Whispers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.whispers...)
}

// OnMessage has a function called while the next message of the app is on its way.
func (s *Slack) OnMessage(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrives = f
}

// arrival calls the function of OnMessage.
func (s *Slack) arrival() {
	s.mu.Lock()
	f := s.arrives
	s.arrives = nil
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

func reply(w http.ResponseWriter, body map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // the test sees that the answer is missing
}

func (s *Slack) exchange(w http.ResponseWriter, r *http.Request) {
	app := App()
	team, token := Team, Token
	if r.FormValue("code") == OtherCode {
		team, token = OtherTeam, Token+"-elsewhere"
	}
	switch {
	case r.ParseForm() != nil, r.PostForm.Get("client_id") != app.ClientID, r.PostForm.Get("client_secret") != app.ClientSecret:
		reply(w, map[string]any{"ok": false, "error": "bad_client_secret"})
	case r.PostForm.Get("code") != Code && team == Team, !strings.HasSuffix(r.PostForm.Get("redirect_uri"), "/auth/slack/callback"):
		reply(w, map[string]any{"ok": false, "error": "invalid_code"})
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revoked = s.revoked && team != Team // a new installation has a token that works
		reply(w, map[string]any{
			"ok": true, "app_id": AppID, "access_token": token, "token_type": "bot", "scope": "chat:write", "bot_user_id": "U0BOT",
			"team": map[string]any{"id": team, "name": "Acme"}, "is_enterprise_install": false,
		})
	}
}

// method is chat.postMessage or chat.update.
func (s *Slack) method(w http.ResponseWriter, r *http.Request) {
	s.arrival()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follows(w) {
		return
	}
	var m Message
	body, err := io.ReadAll(r.Body)
	switch {
	case !s.knows(r):
		reply(w, map[string]any{"ok": false, "error": "invalid_auth"})
	case err != nil || json.Unmarshal(body, &m) != nil || m.Text == "":
		reply(w, map[string]any{"ok": false, "error": "no_text"})
	case m.Channel != Channel:
		reply(w, map[string]any{"ok": false, "error": "channel_not_found"})
	case strings.HasSuffix(r.URL.Path, "postMessage"):
		m.TS = fmt.Sprintf("1700000000.%06d", len(s.messages)+1)
		s.messages = append(s.messages, m)
		reply(w, map[string]any{"ok": true, "channel": m.Channel, "ts": m.TS})
	default:
		s.update(w, m)
	}
}

// follows gives the answer that the test has set, if it has.
func (s *Slack) follows(w http.ResponseWriter) bool {
	a, planned := s.planned()
	switch {
	case !planned:
	case a.Status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", a.RetryAfter)
		w.WriteHeader(a.Status)
	default:
		reply(w, map[string]any{"ok": false, "error": a.Text})
	}
	return planned
}

// knows reports whether a request has the token of the installation, which was not revoked.
func (s *Slack) knows(r *http.Request) bool {
	return r.Header.Get("Authorization") == "Bearer "+Token && !s.revoked
}

// Revoked reports whether the token of the installation was revoked.
func (s *Slack) Revoked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revoked
}

func (s *Slack) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.follows(w):
	case !s.knows(r):
		reply(w, map[string]any{"ok": false, "error": "invalid_auth"})
	default:
		s.revoked = true
		reply(w, map[string]any{"ok": true, "revoked": true})
	}
}

func (s *Slack) update(w http.ResponseWriter, m Message) {
	for i, was := range s.messages {
		if was.TS == m.TS {
			m.Edits = was.Edits + 1
			s.messages[i] = m
			reply(w, map[string]any{"ok": true, "channel": m.Channel, "ts": m.TS})
			return
		}
	}
	reply(w, map[string]any{"ok": false, "error": "message_not_found"})
}

func (s *Slack) whisper(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said struct {
		ResponseType string `json:"response_type"`
		Text         string `json:"text"`
	}
	body, err := io.ReadAll(r.Body)
	valid := err == nil && json.Unmarshal(body, &said) == nil && said.ResponseType == "ephemeral"
	if !valid {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	s.whispers = append(s.whispers, said.Text)
	_, _ = io.WriteString(w, "ok")
}

// Press holds the press of a button. A test changes it before it is signed.
type Press struct {
	Team, UserTeam, User, App string
	Action, Value             string
	At                        time.Time
	Secret                    string // that signs
	Trigger                   string // tells the presses of one second apart
	Body                      string // "": made from the fields
}

// Pressed returns the press of a button of the app in its workspace.
func Pressed(user, action, value string, at time.Time) Press {
	return Press{Team: Team, UserTeam: Team, User: user, App: AppID, Action: action, Value: value, At: at, Secret: App().SigningSecret, Trigger: rand.Text()}
}

// Request returns the request that Slack makes for a press, to an address of the service.
func (s *Slack) Request(p Press, address string) *http.Request {
	if p.Body == "" {
		payload, err := json.Marshal(map[string]any{
			"type": "block_actions", "trigger_id": p.Trigger, "api_app_id": p.App, "team": map[string]any{"id": p.Team}, "response_url": s.URL + responses,
			"user":    map[string]any{"id": p.User, "username": "<!channel>" + p.User, "team_id": p.UserTeam},
			"actions": []any{map[string]any{"type": "button", "action_id": p.Action, "value": p.Value}},
		})
		if err != nil {
			panic(err) // maps of texts are always JSON
		}
		p.Body = url.Values{"payload": {string(payload)}}.Encode()
	}
	stamp := strconv.FormatInt(p.At.Unix(), 10)
	r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(p.Body))
	r.RequestURI = ""
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", slack.App{SigningSecret: p.Secret}.Sign(stamp, []byte(p.Body)))
	return r
}
