package operations_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	tenant "orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/slack"
)

// workspace is a desk whose company has installed the app at a fake Slack.
type workspace struct {
	*desk
	fake   *slacktest.Slack
	cookie string
}

// browse follows an address of the service in the browser that holds the cookie, and returns where it leads.
func (w *workspace) browse(address, cookie string) (status int, location string) {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Header.Set("Cookie", cookie)
	out := httptest.NewRecorder()
	w.Server.ServeHTTP(out, r)
	return out.Code, out.Header().Get("Location")
}

// begin begins an installation, and returns the state that goes to Slack.
func (w *workspace) begin() (state string) {
	w.t.Helper()
	answer := w.Do("POST", path(w.Harness, "/channels/slack/connect"), w.A.Token, nil).Want(200)
	var start operations.SlackStart
	answer.JSON(&start)
	w.cookie, _, _ = strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	at, err := url.Parse(start.URL)
	errtest.Must(w.t, err)
	return at.Query().Get("state")
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{fake: slacktest.New(t)}
	w.desk = newDesk(t, func(d *operations.Deps) {
		d.Slack = slack.Client{Out: outbound.New(outbound.Options{AllowLoopback: true}), URL: w.fake.URL, Now: time.Now}
		d.SlackApp = func(context.Context) (slack.App, error) { return slacktest.App(), nil }
		d.Base, d.Logger = "https://orgops.test", slog.New(slog.DiscardHandler)
	})
	return w
}

func installed(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t)
	_, location := w.browse("/auth/slack/callback?code="+slacktest.Code+"&state="+w.begin(), w.cookie)
	if want := "https://orgops.test/console/index.html#/operations/channels?slack=installed"; location != want {
		t.Fatalf("the installation ended at %s, want %s", location, want)
	}
	w.Do("PUT", path(w.Harness, "/channels/slack"), w.A.Token, object{"channel": slacktest.Channel}).Want(200)
	w.govern(enforced("closing", closing))
	return w
}

// send sends the press of a button, and returns the status of the answer.
func (w *workspace) send(p slacktest.Press) int { return w.sendTo(p, "/slack/interactions/app") }

func (w *workspace) sendTo(p slacktest.Press, address string) int {
	out := httptest.NewRecorder()
	w.Server.ServeHTTP(out, w.fake.Request(p, address))
	return out.Code
}

func (w *workspace) press(who, action, approvalID string) slacktest.Press {
	return slacktest.Pressed(who, action, slack.Value(w.A.ID, approvalID), w.clock.Now())
}

// whisper returns what the person who pressed last was told.
func (w *workspace) whisper() string {
	all := w.fake.Whispers()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// code returns the code of the last whisper.
func (w *workspace) code() string {
	w.t.Helper()
	_, rest, _ := strings.Cut(w.whisper(), "#/slack/")
	code, _, found := strings.Cut(rest, "?company="+w.A.ID+"|")
	if !found {
		w.t.Fatalf("%q has no code for the company", w.whisper())
	}
	return code
}

// link links a user of Slack to the user of a token.
func (w *workspace) link(who, token, approvalID string) {
	w.t.Helper()
	w.send(w.press(who, slack.Approve, approvalID))
	at := "/companies/" + w.A.ID + "/notices/slack"
	var got operations.SlackUserLink
	w.Do("POST", at, token, object{"code": w.code()}).Want(200).JSON(&got)
	if diff := cmp.Diff(operations.SlackUserLink{Workspace: "Acme", UserID: who, Name: "<!channel>" + who}, got); diff != "" {
		w.t.Fatalf("who would be linked differs (-want +got):\n%s", diff)
	}
	w.Do("POST", at, token, object{"code": w.code(), "confirm": true}).Want(200)
	w.Do("POST", at, token, object{"code": w.code(), "confirm": true}).WantProblem(422, "invalid")
	w.clock.Advance(time.Second)
}

// join adds a user of the company, who may decide on what is asked for later, and returns the token.
func (w *workspace) join(role user.Role) (userID, token string) {
	w.t.Helper()
	u := user.User{ID: id.New(), Email: id.New() + "@acme.test", Role: role, State: user.Active, CreatedAt: w.clock.Now().Add(-time.Hour)}
	errtest.Must(w.t, w.c.Commit(w.t.Context(), w.c.Create(user.Key(u.ID), user.Entity, u)))
	return u.ID, w.UserToken(w.A.ID, u.ID, role)
}

func TestSlackPress(t *testing.T) {
	t.Parallel()
	w := installed(t)
	approvalID := w.ask(closed("1"))
	if got := w.send(w.press("UADA", slack.Approve, approvalID)); got != 200 {
		t.Fatalf("a press of a user who is not linked has the status %d, want 200", got)
	}
	w.wantState(approvalID, "pending")
	w.link("UADA", w.A.Token, approvalID)
	if got := w.send(w.press("UADA", slack.Approve, approvalID)); got != 200 {
		t.Fatalf("a press has the status %d, want 200", got)
	}
	w.wantState(approvalID, "approved by user: permitted created")
	w.clock.Advance(time.Second)
	w.send(w.press("UADA", slack.Reject, approvalID))
	w.wantState(approvalID, "approved by user: permitted created")
	if got := w.whisper(); !strings.HasPrefix(got, "Approved, ") {
		t.Errorf("a second press is told %q, want how it ended", got)
	}
	var log struct{ Items []struct{ Operation string } }
	w.Do("GET", path(w.Harness, "/audit"), w.A.Token, nil).Want(200).JSON(&log)
	if !slices.ContainsFunc(log.Items, func(r struct{ Operation string }) bool { return r.Operation == "approve-action" }) {
		t.Errorf("the audit %+v lacks the decision", log.Items)
	}
}

// TestSlackLink_Narrowed links no user of Slack by a token that has fewer scopes than its user, or was ended.
func TestSlackLink_Narrowed(t *testing.T) {
	t.Parallel()
	w := installed(t)
	w.send(w.press("UADA", slack.Approve, w.ask(closed("1"))))
	at, body := "/companies/"+w.A.ID+"/notices/slack", object{"code": w.code(), "confirm": true}
	claims, err := w.Verifier.Verify(w.A.Token)
	errtest.Must(t, err)
	claims.ID, claims.Role, claims.Scopes = "", string(user.Founder), []string{user.ScopeMemoryRead}
	narrow, err := w.Signer.Issue(claims)
	errtest.Must(t, err)
	w.Do("POST", at, narrow, body).WantProblem(403, "insufficient-scope")
	w.Do("GET", "/companies/"+w.A.ID+"/notices", w.A.Token, nil).Want(200)
	claims, err = w.Verifier.Verify(w.A.Token)
	errtest.Must(t, err)
	op, err := user.EndToken(t.Context(), w.c, claims.Subject, claims.ID, claims.Expires, w.clock.Now())
	errtest.Must(t, err)
	errtest.Must(t, w.c.Commit(t.Context(), op))
	w.Do("POST", at, w.A.Token, body).WantProblem(401, "unauthenticated")
}

// A request that Slack has not signed now for this workspace has no effect.
func TestSlackPress_Forged(t *testing.T) {
	t.Parallel()
	w := installed(t)
	approvalID := w.ask(closed("1"))
	w.link("UADA", w.A.Token, approvalID)
	whispers := len(w.fake.Whispers())
	for name, edit := range map[string]func(p *slacktest.Press){
		"another secret":       func(p *slacktest.Press) { p.Secret = "guess" },
		"no secret":            func(p *slacktest.Press) { p.Secret = "" },
		"old":                  func(p *slacktest.Press) { p.At = p.At.Add(-slack.Tolerance - time.Second) },
		"of the future":        func(p *slacktest.Press) { p.At = p.At.Add(slack.Tolerance + time.Second) },
		"another workspace":    func(p *slacktest.Press) { p.Team, p.UserTeam = "T0002", "T0002" },
		"a stranger's account": func(p *slacktest.Press) { p.UserTeam = "T0002" },
		"another app":          func(p *slacktest.Press) { p.App = "A0002" },
		"another company":      func(p *slacktest.Press) { p.Value = slack.Value(w.B.ID, approvalID) },
	} {
		p := w.press("UADA", slack.Approve, approvalID)
		edit(&p)
		if got := w.send(p); !slices.Contains([]int{401, 403}, got) {
			t.Errorf("%s: status = %d, want a refusal", name, got)
		}
	}
	if got := w.sendTo(w.press("UADA", slack.Approve, approvalID), "/slack/interactions/"+w.B.ID); got != 403 {
		t.Errorf("a press to another company's address has the status %d, want 403", got)
	}
	queried := w.press("UADA", slack.Approve, approvalID)
	queried.Body = "x=1"
	if got := w.sendTo(queried, "/slack/interactions/app?payload="+url.QueryEscape(`{"type":"block_actions"}`)); got != 422 {
		t.Errorf("a payload in the query has the status %d, want 422", got)
	}
	w.wantState(approvalID, "pending")
	if got := len(w.fake.Whispers()); got != whispers {
		t.Errorf("strangers were told something: %v", w.fake.Whispers()[whispers:])
	}
}

// A copy of a request has no effect, and nothing is told again.
func TestSlackPress_Replayed(t *testing.T) {
	t.Parallel()
	w := installed(t)
	p := w.press("UADA", slack.Approve, w.ask(closed("1")))
	for range 3 {
		if got := w.send(p); got != 200 {
			t.Errorf("status = %d, want 200", got)
		}
	}
	if got := len(w.fake.Whispers()); got != 1 {
		t.Errorf("the person was told %d times, want once", got)
	}
}

// The same rules hold as in the API: the role, not the one who asked, in time, once.
func TestSlackPress_Rules(t *testing.T) {
	t.Parallel()
	w := installed(t)
	first := w.ask(closed("1"))
	_, member := w.join(user.Member)
	operatorID, operator := w.join(user.Operator)
	w.link("UMEMBER", member, first)
	w.link("UADA", w.A.Token, first)
	w.link("UOP", operator, first)
	approvalID := w.ask(closed("2"))
	w.send(w.press("UMEMBER", slack.Approve, approvalID))
	w.wantState(approvalID, "pending")
	if got := w.whisper(); !strings.Contains(got, "operations:write") {
		t.Errorf("a member is told %q, want the scope that is missing", got)
	}

	own := approval.New(policy.Decision{
		ID: id.New(), At: w.clock.Now(), Action: "goal.update", ActionDigest: "own", Principal: timeline.Reference{Type: "integration", ID: "github"},
	}, json.RawMessage(`{}`), "Own", timeline.Reference{Type: user.Entity, ID: w.A.UserID})
	errtest.Must(t, w.c.Commit(t.Context(), own.Request(w.c, 0)...))
	w.send(w.press("UADA", slack.Approve, own.ID))
	w.wantState(own.ID, "pending")

	var both sync.WaitGroup
	for _, who := range []string{"UADA", "UOP"} {
		both.Go(func() { w.send(w.press(who, slack.Reject, approvalID)) })
	}
	both.Wait()
	w.wantState(approvalID, "rejected by user:  ")

	late := w.ask(closed("3"))
	w.clock.Advance(25 * time.Hour)
	w.send(w.press("UADA", slack.Approve, late))
	w.wantState(late, "expired")
	if got := w.whisper(); !strings.HasPrefix(got, "Expired") {
		t.Errorf("a press after the end is told %q, want that it has expired", got)
	}

	gone := w.ask(closed("4"))
	u := user.User{}
	item, err := w.c.Get(t.Context(), user.Key(operatorID), &u)
	errtest.Must(t, err)
	u.State = user.Disabled
	errtest.Must(t, w.c.Commit(t.Context(), w.c.Replace(item.Key, user.Entity, item.Version, u)))
	w.send(w.press("UOP", slack.Approve, gone))
	w.wantState(gone, "pending")

	w.Do("DELETE", "/companies/"+w.A.ID+"/notices/slack", w.A.Token, nil).Want(204)
	w.send(w.press("UADA", slack.Approve, gone))
	w.wantState(gone, "pending")
}

// TestSlackPress_Suspended writes nothing into a suspended company, and says why.
func TestSlackPress_Suspended(t *testing.T) {
	t.Parallel()
	w := installed(t)
	approvalID := w.ask(closed("1"))
	w.link("UADA", w.A.Token, approvalID)
	errtest.Must(t, w.c.Commit(t.Context(), w.c.Create(user.HaltKey, user.HaltEntity, user.Halt{}).Quietly()))
	keys := func() (all []string) {
		for item, err := range w.c.Items(t.Context(), store.Query{}) {
			errtest.Must(t, err)
			all = append(all, item.Key)
		}
		return all
	}
	before := keys()
	w.send(w.press("UADA", slack.Approve, approvalID))
	w.send(w.press("USTRANGER", slack.Approve, approvalID))
	if got, want := w.whisper(), "Not decided: the company is suspended"; !strings.HasPrefix(got, want) {
		t.Errorf("the press is told %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, keys()); diff != "" {
		t.Errorf("the presses have written (-want +got):\n%s", diff)
	}
}

// A link ends with the sessions of the person. A link of a session that has ended meanwhile never counts.
func TestSlackPress_SignedOut(t *testing.T) {
	t.Parallel()
	w := installed(t)
	u, _, err := tenant.GetUser(t.Context(), w.c, w.A.UserID)
	errtest.Must(t, err)
	approvalID := w.ask(closed("1"))
	w.link("UADA", w.A.Token, approvalID)
	errtest.Must(t, tenant.EndSessions(t.Context(), w.Store, w.A.ID, u, w.clock.Now()))
	w.send(w.press("UADA", slack.Approve, approvalID))
	w.wantState(approvalID, "pending")
	if got, want := w.whisper(), "you have signed out everywhere"; !strings.Contains(got, want) {
		t.Errorf("a person who has signed out is told %q, want %q", got, want)
	}
	w.clock.Advance(time.Second)
	w.link("UADA", w.Signed(w.A.ID, w.A.UserID, user.Founder, 1), approvalID)
	w.send(w.press("UADA", slack.Approve, approvalID))
	w.wantState(approvalID, "approved by user: permitted created")
}

// A company that requires a second factor takes no press by a link that was made without one. The person links again with it.
func TestSlackPress_SecondFactor(t *testing.T) {
	t.Parallel()
	w := installed(t)
	first := w.ask(closed("1"))
	w.link("UADA", w.A.Token, first)
	w.send(w.press("UADA", slack.Approve, first))
	w.wantState(first, "approved by user: permitted created")
	second := w.ask(closed("2"))
	errtest.Must(t, tenant.RequireSecondFactor(t.Context(), w.c, true))
	w.send(w.press("UADA", slack.Approve, second))
	w.wantState(second, "pending")
	if got, want := w.whisper(), "the company requires a second factor"; !strings.Contains(got, want) {
		t.Errorf("a person with a link without a factor is told %q, want %q", got, want)
	}
	strong, err := w.Signer.Issue(token.Claims{
		Subject: w.A.UserID, Company: w.A.ID, Plan: tenant.DefaultPlan, Role: string(user.Founder), Scopes: user.Founder.Scopes(), Methods: []string{"pwd", token.ByFactors},
	})
	errtest.Must(t, err)
	w.clock.Advance(time.Second)
	w.link("UADA", strong, second)
	w.send(w.press("UADA", slack.Approve, second))
	w.wantState(second, "approved by user: permitted created")
}

// A user of the company's identity provider has the factors that the provider asks for.
func TestSlackPress_IdentityProvider(t *testing.T) {
	t.Parallel()
	w := installed(t)
	u, version, err := tenant.GetUser(t.Context(), w.c, w.A.UserID)
	errtest.Must(t, err)
	u.Identity = "https://idp.test#ada"
	errtest.Must(t, w.c.Commit(t.Context(), w.c.Replace(user.Key(u.ID), user.Entity, version, u)))
	errtest.Must(t, tenant.RequireSecondFactor(t.Context(), w.c, true))
	approvalID := w.ask(closed("1"))
	w.link("UADA", w.A.Token, approvalID)
	w.send(w.press("UADA", slack.Approve, approvalID))
	w.wantState(approvalID, "approved by user: permitted created")
}

// A person is told of each link, which another person may have made in their session, once.
func TestSlackLink_Told(t *testing.T) {
	t.Parallel()
	w := installed(t)
	w.link("UADA", w.A.Token, w.ask(closed("1")))
	var told []string
	for item, err := range w.c.Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
		errtest.Must(t, err)
		var n notice.Stored
		errtest.Must(t, item.Decode(&n))
		if n.Kind == notice.Security {
			told = append(told, n.UserID+": "+n.Subject)
		}
	}
	if diff := cmp.Diff([]string{w.A.UserID + ": A user of Slack was linked to you"}, told); diff != "" {
		t.Errorf("security notices differ (-want +got):\n%s", diff)
	}
}

// A code links once, in its company, in time.
func TestSlackLink(t *testing.T) {
	t.Parallel()
	w := installed(t)
	w.send(w.press("UADA", slack.Approve, w.ask(closed("1"))))
	code := w.code()
	w.Do("POST", "/companies/"+w.B.ID+"/notices/slack", w.B.Token, object{"code": code, "confirm": true}).WantProblem(422, "invalid")
	w.clock.Advance(notice.SlackCodeLifetime)
	w.Do("POST", "/companies/"+w.A.ID+"/notices/slack", w.A.Token, object{"code": code, "confirm": true}).WantProblem(422, "invalid")
}

// An installation ends once, in the browser that began it, for a person who still may.
func TestSlackInstall(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	refused := "https://orgops.test/console/index.html#/operations/channels?slack=refused"
	end := func(query, cookie string) string {
		_, location := w.browse("/auth/slack/callback?"+query, cookie)
		return location
	}
	good := "code=" + slacktest.Code + "&state="
	if got := end(good+w.begin(), "__Host-orgops-slack=AAAAAAAAAAAAAAAAAAAAAAAAAA"); got != refused {
		t.Errorf("another browser ended at %s, want a refusal", got)
	}
	if got := end("code=wrong&state="+w.begin(), w.cookie); got != refused {
		t.Errorf("a wrong code ended at %s, want a refusal", got)
	}
	if got := end("error=access_denied&state="+w.begin(), w.cookie); got != refused {
		t.Errorf("an installation that the person ended is at %s, want a refusal", got)
	}
	late := w.begin()
	u, _, err := tenant.GetUser(t.Context(), w.c, w.A.UserID)
	errtest.Must(t, err)
	errtest.Must(t, tenant.EndSessions(t.Context(), w.Store, w.A.ID, u, w.clock.Now()))
	if got := end(good+late, w.cookie); got != refused {
		t.Errorf("an installation of a session that has ended is at %s, want a refusal", got)
	}
	w.A.Token = w.Signed(w.A.ID, w.A.UserID, user.Founder, 1)
	w.Forget()
	w.Do("GET", path(w.Harness, "/channels/slack"), w.A.Token, nil).WantProblem(404, "not-found")
	state := w.begin()
	end(good+state, w.cookie)
	if got := end(good+state, w.cookie); got != refused {
		t.Errorf("a second end is at %s, want a refusal", got)
	}
	answer := w.Do("GET", path(w.Harness, "/channels/slack"), w.A.Token, nil).Want(200)
	var shown operations.SlackChannel
	answer.JSON(&shown)
	if shown.App == nil {
		t.Fatalf("the channel shows no app: %s", answer.Body)
	}
	if got := shown.App.Workspace; got != "Acme" {
		t.Errorf("workspace = %s, want Acme", got)
	}
	stored, err := w.c.Get(t.Context(), notice.ChannelKey(notice.Slack), nil)
	errtest.Must(t, err)
	for name, body := range map[string]json.RawMessage{"the answer": answer.Body, "the store": stored.Body} {
		if strings.Contains(string(body), slacktest.Token) {
			t.Errorf("%s shows the token: %s", name, body)
		}
	}
	var sent operations.ChannelTest
	w.Do("POST", path(w.Harness, "/channels/slack/test"), w.A.Token, nil).Want(200).JSON(&sent)
	if want := "choose a channel for the app first"; sent.Reason != want {
		t.Errorf("reason = %q, want %q", sent.Reason, want)
	}
	w.Do("PUT", path(w.Harness, "/channels/slack"), w.A.Token, object{"channel": "C0002"}).Want(200)
	w.Do("POST", path(w.Harness, "/channels/slack/test"), w.A.Token, nil).Want(200).JSON(&sent)
	if want := "Slack refused it: channel_not_found"; sent.Reason != want {
		t.Errorf("reason = %q, want %q", sent.Reason, want)
	}
}

// An app that is installed in another workspace leaves no token behind in the first one. A second installation in the same workspace has the same token.
func TestSlackApp_Moved(t *testing.T) {
	t.Parallel()
	w := installed(t)
	w.browse("/auth/slack/callback?code="+slacktest.Code+"&state="+w.begin(), w.cookie)
	if w.fake.Revoked() {
		t.Fatal("the token was revoked by a second installation in the same workspace")
	}
	w.browse("/auth/slack/callback?code="+slacktest.OtherCode+"&state="+w.begin(), w.cookie)
	if !w.fake.Revoked() {
		t.Error("the token for the first workspace was not revoked")
	}
	var shown operations.SlackChannel
	w.Do("GET", path(w.Harness, "/channels/slack"), w.A.Token, nil).Want(200).JSON(&shown)
	if shown.App.Team != slacktest.OtherTeam {
		t.Errorf("the app is in %s, want %s", shown.App.Team, slacktest.OtherTeam)
	}
}

// TestSlackApp_Removed removes the channel. Slack revokes the token of the app, and a Slack that does not answer changes nothing of that.
func TestSlackApp_Removed(t *testing.T) {
	t.Parallel()
	t.Run("revoked", func(t *testing.T) {
		t.Parallel()
		w := installed(t)
		at := path(w.Harness, "/channels/slack")
		w.Do("DELETE", at, w.A.Token, nil, "If-Match", `"7"`).WantProblem(412, "stale")
		if w.fake.Revoked() {
			t.Fatal("the token of a channel that stays was revoked")
		}
		w.Do("DELETE", at, w.A.Token, nil).Want(204)
		if !w.fake.Revoked() {
			t.Error("the token was not revoked")
		}
		w.Do("GET", at, w.A.Token, nil).WantProblem(404, "not-found")
	})
	t.Run("Slack refuses", func(t *testing.T) {
		t.Parallel()
		w := installed(t)
		w.fake.Next(slacktest.Answer{Text: "token_revoked"})
		w.Do("DELETE", path(w.Harness, "/channels/slack"), w.A.Token, nil).Want(204)
		w.Do("GET", path(w.Harness, "/channels/slack"), w.A.Token, nil).WantProblem(404, "not-found")
	})
}

// The manifest names the routes and the scope that the service has.
func TestSlackApp_Manifest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("slack-manifest.json")
	errtest.Must(t, err)
	var m struct {
		OAuth struct {
			Redirects []string `json:"redirect_urls"`
			Scopes    struct{ Bot []string }
		} `json:"oauth_config"`
		Settings struct {
			Interactivity struct {
				URL string `json:"request_url"`
			}
			Rotates bool `json:"token_rotation_enabled"`
		}
	}
	errtest.Must(t, json.Unmarshal(text, &m))
	w := newWorkspace(t)
	at, err := url.Parse(slack.Client{URL: slack.Home}.Authorize(slacktest.App(), "", ""))
	errtest.Must(t, err)
	if diff := cmp.Diff(strings.Split(at.Query().Get("scope"), ","), m.OAuth.Scopes.Bot); diff != "" {
		t.Errorf("scopes differ (-asked for +manifest):\n%s", diff)
	}
	for method, address := range map[string]string{"GET": m.OAuth.Redirects[0], "POST": m.Settings.Interactivity.URL} {
		to, err := url.Parse(address)
		errtest.Must(t, err)
		if got := w.Do(method, to.Path, "", nil).Status; got == 404 {
			t.Errorf("%s %s of the manifest is not there", method, to.Path)
		}
	}
	if m.Settings.Rotates {
		t.Error("the manifest turns on the rotation of tokens, which the service does not do")
	}
}

// Without an app of the operator there is no installation, and no press counts.
func TestSlackApp_None(t *testing.T) {
	t.Parallel()
	h, fake, _ := post(t)
	h.Do("POST", path(h, "/channels/slack/connect"), h.A.Token, nil).WantProblem(409, "conflict")
	out := httptest.NewRecorder()
	p := slacktest.Pressed("UADA", slack.Approve, slack.Value(h.A.ID, id.New()), noon())
	p.Secret = ""
	h.Server.ServeHTTP(out, fake.Request(p, "/slack/interactions/app"))
	if out.Code != 401 {
		t.Errorf("status = %d, want 401", out.Code)
	}
}
