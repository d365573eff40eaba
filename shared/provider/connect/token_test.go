package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/user"
	"orgops/shared/identity/application"
	"orgops/shared/identity/authcode"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connect"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/oauthtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// world is a company whose integration of GitLab was connected at a server.
type world struct {
	connect.Access
	t       *testing.T
	at      *oauthtest.Server
	clock   *clocktest.Clock
	company store.Company
	conns   connector.Registry
	store   store.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, at: oauthtest.New(t), clock: clocktest.At(time.Now().UTC().Truncate(time.Second))}
	s := webtest.OpenStore(t)
	w.store = s
	wrapper, err := vault.OpenFileKey(filepath.Join(t.TempDir(), "vault.key"))
	errtest.Must(t, err)
	client := outbound.New(outbound.Options{AllowLoopback: true})
	w.company, w.conns = store.For(s, "0198c5f2-0000-7000-8000-000000000001"), catalog.All(client, w.clock.Now)
	w.Access = connect.Access{
		Vault: vault.New(wrapper, vault.StoreKeys{Store: s}, nil), Client: client, Logger: slog.New(slog.DiscardHandler), Now: w.clock.Now,
		Applications: application.Static{"gitlab": w.at.Application("https://gitlab.com")},
	}
	i := integration.Integration{
		Provider: "gitlab", Kind: "gitlab", Incarnation: "0198c5f2-0000-7000-8000-000000000002", Enabled: true, State: integration.Sandbox,
		Config: json.RawMessage(`{"project": "acme/app"}`), CreatedAt: w.clock.Now(), UpdatedAt: w.clock.Now(),
	}
	errtest.Must(t, w.company.Commit(t.Context(), integration.Create(w.company, i)))
	w.link()
	return w
}

func (w *world) conn() connector.Connector {
	c, _ := w.conns.Lookup("gitlab")
	return c
}

func (w *world) load() integration.Stored {
	w.t.Helper()
	i, version, err := integration.Load(w.t.Context(), w.company, "gitlab")
	errtest.Must(w.t, err)
	return integration.Stored{Integration: i, Version: version}
}

// link connects the integration.
func (w *world) link() {
	w.t.Helper()
	trip := connect.Trip{Bound: roundtrip.Bind("cookie", w.clock.Now()), Session: user.Session{UserID: "u"}, Redirect: "https://orgops.test/auth/connect/callback"}
	address, op, err := w.Begin(w.t.Context(), w.company, w.conn(), w.load().Integration, trip)
	errtest.Must(w.t, err)
	errtest.Must(w.t, w.company.Commit(w.t.Context(), op))
	led, err := url.Parse(address)
	errtest.Must(w.t, err)
	back := w.at.Allow(led)
	_, secret := roundtrip.Split(back.Get("state"))
	trip, err = connect.Take(w.t.Context(), w.company, secret, "cookie", w.clock.Now())
	errtest.Must(w.t, err)
	ops, err := w.Finish(w.t.Context(), w.company, w.conn(), w.load(), trip, connect.Answer{Answer: authcode.Answer{Code: back.Get("code")}})
	errtest.Must(w.t, err)
	errtest.Must(w.t, w.company.Commit(w.t.Context(), ops...))
	w.at.Asked()
}

// TestBegin_Addresses begins nothing at an address of the operator's server that cannot be sent, and says which it is.
func TestBegin_Addresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, edit := range map[string]func(*application.Server){
		"api: a url must not carry":             func(s *application.Server) { s.API = "https://user@gitlab.com" },
		"authorization: begins or ends with":    func(s *application.Server) { s.Authorization += " " },
		"token: has a % at byte":                func(s *application.Server) { s.Token += "/%zz" },
		"revocation: the port must be a number": func(s *application.Server) { s.Revocation = "https://gitlab.com:0/revoke" },
	} {
		a := w.at.Application("https://gitlab.com")
		edit(a.Server)
		w.Applications = application.Static{"gitlab": a}
		_, _, err := w.Begin(t.Context(), w.company, w.conn(), w.load().Integration, connect.Trip{Redirect: "https://orgops.test/"})
		name, detail, _ := strings.Cut(name, ": ")
		if got, want := errtest.Message(err), "ask the operator to correct "+name+": "; !strings.Contains(got, want) {
			t.Errorf("error %q, want one with %q", got, want)
		}
		if got := errtest.Message(err); !strings.Contains(got, detail) {
			t.Errorf("error %q, want one with %q", got, detail)
		}
	}
}

// token returns with what the integration fetches.
func (w *world) token(ctx context.Context) (string, error) {
	s, version, err := integration.LoadSecrets(ctx, w.company, w.Vault, "gitlab")
	if err != nil {
		return "", err
	}
	i, _, err := integration.Load(ctx, w.company, "gitlab")
	if err != nil {
		return "", err
	}
	values, _, err := w.Values(ctx, w.company, w.conn(), i, s, version)
	return values[integration.AccessToken], err
}

// wantToken checks that the integration fetches with the token that the server takes, after so many requests for one.
func (w *world) wantToken(requests int) {
	w.t.Helper()
	got, err := w.token(w.t.Context())
	errtest.Must(w.t, err)
	if got != w.at.Access() {
		w.t.Error("the token is not the one that the server takes")
	}
	if asked, _ := w.at.Asked(); len(asked) != requests {
		w.t.Errorf("%d requests for tokens, want %d", len(asked), requests)
	}
}

// TestValues_Refresh refreshes shortly before the end, once, and again with the rotated token.
func TestValues_Refresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wantToken(0)
	for range 3 {
		w.clock.Advance(54 * time.Minute)
		w.wantToken(0)
		w.clock.Advance(2 * time.Minute)
		w.wantToken(1)
	}
}

// TestValues_Concurrent makes one request for tokens for fifty workers at the end of a token. Those that do not wait for it use the
// token of before while it is valid.
func TestValues_Concurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	former := w.at.Access()
	w.clock.Advance(56 * time.Minute)
	var workers sync.WaitGroup
	for range 50 {
		workers.Go(func() {
			got, err := w.token(t.Context())
			if err != nil {
				t.Error(err)
			}
			if !slices.Contains([]string{former, w.at.Access()}, got) {
				t.Error("a worker has a token that the server never gave")
			}
		})
	}
	workers.Wait()
	w.wantToken(1)
}

// TestValues_Busy lets a worker wait whose token has ended while another one refreshes, and asks nothing.
func TestValues_Busy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(2 * time.Hour)
	held, asking := make(chan struct{}), make(chan struct{})
	w.at.Before(func(http.ResponseWriter, *http.Request) bool {
		close(asking)
		<-held
		return false
	})
	first := make(chan error)
	go func() {
		_, err := w.token(t.Context())
		first <- err
	}()
	<-asking
	_, err := w.token(t.Context())
	var throttled *connector.ThrottledError
	if !errors.As(err, &throttled) {
		t.Errorf("error %v, want the worker to wait", err)
	}
	close(held)
	errtest.Must(t, <-first)
	w.at.Before(nil)
	w.wantToken(1)
}

// TestValues_Lost keeps the grant if an answer gets lost before the server has counted the refresh token, and marks it if afterwards.
func TestValues_Lost(t *testing.T) {
	t.Parallel()
	t.Run("before the server", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.clock.Advance(56 * time.Minute)
		w.at.Before(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
		former := w.at.Access()
		got, err := w.token(t.Context())
		errtest.Must(t, err)
		if got != former {
			t.Error("without an answer the token of before does not go on, although it is valid")
		}
		w.at.Before(nil)
		w.at.Asked()
		w.clock.Advance(31 * time.Second)
		w.wantToken(1)
	})
	t.Run("after it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.clock.Advance(2 * time.Hour)
		w.at.Lose(func() bool { return true })
		if _, err := w.token(t.Context()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("error %v of kind %v, want %v", err, fault.KindOf(err), fault.Unavailable)
		}
		w.at.Lose(nil)
		w.clock.Advance(31 * time.Second)
		w.wantLost()
	})
}

// wantLost checks that the connection is refused for good, is marked so, and asks the server no more.
func (w *world) wantLost() {
	w.t.Helper()
	if _, err := w.token(w.t.Context()); fault.KindOf(err) != fault.Conflict {
		w.t.Errorf("error %v of kind %v, want %v", err, fault.KindOf(err), fault.Conflict)
	}
	if w.load().Connection.LostAt == nil {
		w.t.Fatal("the connection is not marked as lost")
	}
	w.at.Asked()
	if _, err := w.token(w.t.Context()); fault.KindOf(err) != fault.Conflict {
		w.t.Errorf("again: error %v of kind %v, want %v", err, fault.KindOf(err), fault.Conflict)
	}
	if asked, _ := w.at.Asked(); len(asked) != 0 {
		w.t.Errorf("%d requests for tokens of a lost connection, want 0", len(asked))
	}
}

// TestValues_Ended marks a connection that the user has ended at the provider. Connecting again goes on.
func TestValues_Ended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at.End()
	w.clock.Advance(56 * time.Minute)
	w.wantLost()
	w.link()
	w.wantToken(0)
}

// TestValues_Trouble keeps the connection when the provider or the operator's registration fails, and asks again after a pause.
func TestValues_Trouble(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"503":            `503 {}`,
		"429":            `429 {"error": "slow_down"}`,
		"invalid_client": `401 {"error": "invalid_client"}`,
		"no JSON":        `200 <html>`,
	} {
		w := newWorld(t)
		w.clock.Advance(2 * time.Hour)
		w.at.Before(func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(map[byte]int{'5': 503, '4': 429, '2': 200}[answer[0]])
			_, _ = rw.Write([]byte(answer[4:]))
			return true
		})
		for range 2 { // the second one waits for the pause
			if _, err := w.token(t.Context()); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s: error %v of kind %v, want %v", name, err, fault.KindOf(err), fault.Unavailable)
			}
		}
		if asked, _ := w.at.Asked(); len(asked) != 1 {
			t.Errorf("%s: %d requests for tokens, want 1", name, len(asked))
		}
		w.at.Before(nil)
		w.clock.Advance(31 * time.Second)
		w.wantToken(1)
	}
}

// TestValues_Origin gives the token to the origin for which it was stored alone.
func TestValues_Origin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.load()
	i.Config = json.RawMessage(`{"project": "acme/app", "host": "evil.example"}`)
	s, version, err := integration.LoadSecrets(t.Context(), w.company, w.Vault, "gitlab")
	errtest.Must(t, err)
	got, _, err := w.Values(t.Context(), w.company, w.conn(), i.Integration, s, version)
	errtest.Must(t, err)
	if diff := cmp.Diff(map[string]string(nil), got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestValues_Disconnected revokes what a refresh brings after the connection has ended.
func TestValues_Disconnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(2 * time.Hour)
	w.at.Before(func(http.ResponseWriter, *http.Request) bool {
		s, version, err := integration.LoadSecrets(t.Context(), w.company, w.Vault, "gitlab")
		errtest.Must(t, err)
		s.Grant = nil
		op, err := integration.SaveSecrets(t.Context(), w.company, w.Vault, integration.Integration{Provider: "gitlab"}, version, s)
		errtest.Must(t, err)
		errtest.Must(t, w.company.Commit(t.Context(), op))
		return false
	})
	if _, err := w.token(t.Context()); fault.KindOf(err) != fault.Conflict {
		t.Errorf("error %v of kind %v, want %v", err, fault.KindOf(err), fault.Conflict)
	}
	w.at.Before(nil)
	w.run()
	if w.at.Access() != "" {
		t.Error("the new token is still valid")
	}
}

// run runs the errands whose timers are due.
func (w *world) run() (errands int) {
	w.t.Helper()
	for _, e := range w.due() {
		errands++
		errtest.Must(w.t, w.Do(w.t.Context(), w.company, e))
	}
	return errands
}

// due takes the errands whose timers are due.
func (w *world) due() (all []connect.Errand) {
	w.t.Helper()
	for shard := range store.DueShards {
		page, err := w.store.Query(w.t.Context(), store.Due(shard), store.DueBy(w.clock.Now()))
		errtest.Must(w.t, err)
		for _, item := range page.Items {
			var timer store.Timer
			errtest.Must(w.t, item.Decode(&timer))
			name, m, err := timerqueue.Of(timer)
			errtest.Must(w.t, err)
			if name != connect.Queue {
				w.t.Fatalf("the errand goes to the queue %s, want %s", name, connect.Queue)
			}
			var e connect.Errand
			errtest.Must(w.t, json.Unmarshal(m.Body, &e))
			all = append(all, e)
			errtest.Must(w.t, w.company.Commit(w.t.Context(), w.company.Fired(store.Due(shard), item)))
		}
	}
	return all
}

// TestValues_Cancelled stores what a refresh brings although the caller has gone meanwhile.
func TestValues_Cancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(2 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	w.at.Lose(func() bool { cancel(); return false })
	_, _ = w.token(ctx) // the caller gets nothing
	w.at.Lose(nil)
	w.at.Asked()
	w.wantToken(0)
}

// failing is a store whose commits fail so many times.
type failing struct {
	store.Store
	left  int
	apply bool // the commit is applied, and its outcome is lost
}

func (f *failing) Commit(ctx context.Context, ops ...store.Op) error {
	if f.left == 0 {
		return f.Store.Commit(ctx, ops...)
	}
	f.left--
	if f.apply {
		if err := f.Store.Commit(ctx, ops...); err != nil {
			return err
		}
		return store.ErrUnknown
	}
	return store.ErrUnavailable
}

// TestValues_Store keeps a rotated token although the store fails for a while, or loses the outcome of the write.
func TestValues_Store(t *testing.T) {
	t.Parallel()
	for name, apply := range map[string]bool{"unavailable": false, "outcome unknown": true} {
		w := newWorld(t)
		w.clock.Advance(2 * time.Hour)
		f := &failing{Store: w.store, apply: apply}
		w.company = store.For(f, w.company.ID())
		w.at.Lose(func() bool { f.left = 5; return false })
		if _, err := w.token(t.Context()); err != nil {
			t.Errorf("%s: error %v, want the token", name, err)
		}
		w.at.Lose(nil)
		f.left = 0
		w.at.Asked()
		w.wantToken(0)
	}
}

// TestValues_Changed keeps a connection of another application of the operator, and goes on when the former one is back.
func TestValues_Changed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(2 * time.Hour)
	former := w.Applications
	other := w.at.Application("https://gitlab.com")
	other.ClientID = "other"
	w.Applications = application.Static{"gitlab": other}
	_, err := w.token(t.Context())
	if got := fault.KindOf(err); got != fault.Unavailable {
		t.Errorf("error %v of kind %v, want %v", err, got, fault.Unavailable)
	}
	if said := errtest.Message(err); !strings.Contains(said, "the operator's application has changed") {
		t.Errorf("error %q, want it to say that the application has changed", said)
	}
	if w.load().Connection.LostAt != nil {
		t.Error("the connection is marked as lost")
	}
	w.Applications = former
	w.clock.Advance(31 * time.Second)
	w.wantToken(1)
}

// TestValues_Unrenewed uses a token without a refresh token until its end, which ends the connection.
func TestValues_Unrenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at.Extra = map[string]any{"refresh_token": ""}
	w.link()
	w.clock.Advance(59 * time.Minute)
	w.wantToken(0)
	w.clock.Advance(2 * time.Minute)
	w.wantLost()
}

// TestDo_Check keeps a connection that no sync uses, once a day, and notices within a day that the provider has ended it.
func TestDo_Check(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		w.clock.Advance(24 * time.Hour)
		if got := w.run(); got != 1 {
			t.Errorf("%d errands in a day, want 1", got)
		}
		w.wantToken(1)
	}
	w.at.End()
	w.clock.Advance(24 * time.Hour)
	w.run()
	w.wantLost()
	w.clock.Advance(48 * time.Hour)
	if got := w.run(); got != 0 {
		t.Errorf("%d errands about a lost connection, want 0", got)
	}
}

// TestDo_Check_Copies handles each errand twice, as a queue may. The copies ask for one next check, and a check that is made again joins it.
func TestDo_Check_Copies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(24 * time.Hour)
	for _, away := range []bool{false, true} {
		w.at.Before(func(rw http.ResponseWriter, _ *http.Request) bool {
			if away {
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
			return away
		})
		for _, e := range w.due() {
			errtest.Must(t, w.Do(t.Context(), w.company, e))
			w.clock.Advance(time.Second)
			errtest.Must(t, w.Do(t.Context(), w.company, e))
		}
		w.clock.Advance(24 * time.Hour)
	}
	w.at.Before(nil)
	if got := w.run(); got != 2 { // an hour after the provider was away, and a day after it
		t.Errorf("%d errands after one that failed and its copy, want 2", got)
	}
	w.clock.Advance(24 * time.Hour)
	if got := w.run(); got != 1 {
		t.Errorf("%d errands in a day, want 1", got)
	}
}

// TestDo_Check_Used asks nothing for a connection that a sync has used within the day.
func TestDo_Check_Used(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(23 * time.Hour)
	w.wantToken(1)
	w.clock.Advance(time.Hour)
	w.run()
	if asked, _ := w.at.Asked(); len(asked) != 0 {
		t.Errorf("%d requests for tokens, want 0", len(asked))
	}
	w.clock.Advance(24 * time.Hour)
	if got := w.run(); got != 1 {
		t.Errorf("%d errands the day after, want 1", got)
	}
}

// TestDo_Revoke revokes the refresh token of a connection that is replaced, also after the provider was away.
func TestDo_Revoke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, _, err := integration.LoadSecrets(t.Context(), w.company, w.Vault, "gitlab")
	errtest.Must(t, err)
	former, err := s.OpenGrant(t.Context(), w.company, w.Vault, w.load().Integration)
	errtest.Must(t, err)
	w.link()
	w.at.Away(true)
	w.run()
	w.at.Away(false)
	if _, revoked := w.at.Asked(); len(revoked) != 0 {
		t.Errorf("%d tokens revoked while the provider is away, want 0", len(revoked))
	}
	w.clock.Advance(time.Minute)
	w.run()
	_, revoked := w.at.Asked()
	if diff := cmp.Diff([]string{former.Refresh}, revoked); diff != "" {
		t.Errorf("revoked (-want +got):\n%s", diff)
	}
	w.wantToken(0) // the new one goes on
}
