package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/webhook/outbound"
)

// App holds the operator's registration of the Slack app.
type App struct {
	ClientID      string `json:"clientId"`
	ClientSecret  string `json:"clientSecret"`
	SigningSecret string `json:"signingSecret"`
}

// IsSet reports whether the operator has registered an app.
func (a App) IsSet() bool { return a.ClientID != "" && a.ClientSecret != "" && a.SigningSecret != "" }

// Tolerance is how far the time of a request may be from now, after which a copy of it is refused.
const Tolerance = 5 * time.Minute

// Verify reports whether Slack has signed a request now (docs.slack.dev/authentication/verifying-requests-from-slack). The signature
// covers the time and the raw body alone, so nothing else of the request may count.
func (a App) Verify(header http.Header, body []byte, now time.Time) bool {
	stamps, signatures := header.Values("X-Slack-Request-Timestamp"), header.Values("X-Slack-Signature")
	if a.SigningSecret == "" || len(stamps) != 1 || len(signatures) != 1 {
		return false
	}
	seconds, err := strconv.ParseInt(stamps[0], 10, 64)
	if err != nil {
		return false
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return false
	}
	return hmac.Equal([]byte(signatures[0]), []byte(a.Sign(stamps[0], body)))
}

// Sign returns the signature of a body at a time, as Slack makes it.
func (a App) Sign(stamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(a.SigningSecret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// scope is all that the app asks for: to post messages.
const scope = "chat:write"

// Authorize returns the address at which a person installs the app.
func (c Client) Authorize(a App, redirect, state string) string {
	return c.URL + "/oauth/v2/authorize?" + url.Values{"client_id": {a.ClientID}, "scope": {scope}, "redirect_uri": {redirect}, "state": {state}}.Encode()
}

// Installed tells what an installation gave.
type Installed struct{ AppID, Team, TeamName, Token string }

// answer holds what Slack's API answers.
type answer struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`

	AppID       string `json:"app_id"`
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	Scope       string `json:"scope"`
	ExpiresIn   int    `json:"expires_in"`
	Enterprise  bool   `json:"is_enterprise_install"`
	Team        struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"team"`
}

// Exchange exchanges the code of an installation for the app's token.
func (c Client) Exchange(ctx context.Context, a App, code, redirect string) (Installed, error) {
	form := url.Values{"client_id": {a.ClientID}, "client_secret": {a.ClientSecret}, "code": {code}, "redirect_uri": {redirect}}
	got, err := c.call(ctx, "oauth.v2.access", "application/x-www-form-urlencoded", "", []byte(form.Encode()))
	switch {
	case err != nil:
		return Installed{}, err
	case got.TokenType != "bot" || got.AccessToken == "" || got.Team.ID == "" || got.Enterprise:
		return Installed{}, &RefusedError{"no token of a bot in one workspace"}
	case !slices.Contains(strings.Split(got.Scope, ","), scope):
		return Installed{}, &RefusedError{"the scope chat:write was not given"}
	case got.ExpiresIn > 0:
		return Installed{}, &RefusedError{"the app rotates its tokens; turn token rotation off, as in the manifest"}
	}
	return Installed{got.AppID, got.Team.ID, got.Team.Name, got.AccessToken}, nil
}

// Sent names a message that Slack has taken.
type Sent struct{ Channel, TS string }

// PostMessage posts a message to a channel as the app. Its errors are those of Post.
func (c Client) PostMessage(ctx context.Context, token, channel string, m Message) (Sent, error) {
	got, err := c.callJSON(ctx, "chat.postMessage", token, struct {
		Message

		Channel string `json:"channel"`
	}{m, channel})
	return Sent{got.Channel, got.TS}, err
}

// Update replaces a message of the app. A repeat does no harm.
func (c Client) Update(ctx context.Context, token string, at Sent, m Message) error {
	_, err := c.callJSON(ctx, "chat.update", token, struct {
		Message

		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}{m, at.Channel, at.TS})
	return err
}

func (c Client) callJSON(ctx context.Context, method, token string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return c.call(ctx, method, "application/json; charset=utf-8", token, text)
}

// passing lists the errors after which a repeat may succeed.
var passing = []string{"internal_error", "service_unavailable", "request_timeout"} //nolint:gochecknoglobals // never changed

// call asks for a method of Slack's API, which answers 200 also for what it refuses.
func (c Client) call(ctx context.Context, method, contentType, token string, body []byte) (answer, error) {
	var got answer
	ctx = outbound.WithOrigin(ctx, outbound.Origin(c.URL))
	status, header, text, err := c.send(ctx, c.URL+"/api/"+method, contentType, token, body)
	if err != nil {
		return got, err
	}
	if err := c.judge(status, header, "no reason given"); err != nil {
		return got, err
	}
	switch err := json.Unmarshal(text, &got); {
	case err != nil:
		return answer{}, ErrUnknown
	case got.OK:
		return got, nil
	case got.Error == "ratelimited" || got.Error == "rate_limited":
		return answer{}, &WaitError{usualWait}
	case got.Error == "fatal_error": // what was asked for may have happened
		return answer{}, ErrUnknown
	case slices.Contains(passing, got.Error):
		return answer{}, errors.New("slack answered " + got.Error)
	}
	return answer{}, &RefusedError{codeOf(got.Error)}
}

// revokeTimeout is short, because a caller waits for it.
const revokeTimeout = 3 * time.Second

// Revoke has Slack revoke the token of an installation.
func (c Client) Revoke(ctx context.Context, token string) error {
	ctx, stop := context.WithTimeout(ctx, revokeTimeout)
	defer stop()
	_, err := c.call(ctx, "auth.revoke", "application/x-www-form-urlencoded", token, nil)
	return err
}

// whisperTimeout leaves time to answer Slack within three seconds.
const whisperTimeout = 1500 * time.Millisecond

// Whisper tells a text to the person alone who pressed a button. The address came with the press.
func (c Client) Whisper(ctx context.Context, address, text string) error {
	body, err := json.Marshal(map[string]any{"response_type": "ephemeral", "replace_original": false, "text": text})
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(outbound.WithOrigin(ctx, c.hooks()), whisperTimeout)
	defer stop()
	status, header, _, err := c.send(ctx, address, "application/json", "", body)
	if err != nil {
		return err
	}
	return c.judge(status, header, "no reason given")
}
