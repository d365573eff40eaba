package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/command/apiclient"
	"orgops/local/command/listen"
	"orgops/local/command/relay"
	"orgops/local/command/trigger"
	"orgops/local/suite/servicetest"
	"orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/standardwebhooks"
)

// developer is a founder at a terminal.
type developer struct {
	t    *testing.T
	base string
	servicetest.Founder
	api *apiclient.Client
}

func develop(t *testing.T, s *servicetest.Service, base string) *developer {
	t.Helper()
	d := &developer{t: t, base: base, Founder: s.Found("Relay")}
	var err error
	d.api, err = apiclient.Login(t.Context(), apiclient.Account{Base: s.URL, Email: d.Email, Password: d.Password})
	errtest.Must(t, err)
	return d
}

func (d *developer) terminal() apiclient.Terminal {
	env := map[string]string{"ORGOPS_URL": d.base, "ORGOPS_EMAIL": d.Email, "ORGOPS_PASSWORD": d.Password}
	return apiclient.Terminal{Getenv: func(name string) string { return env[name] }}
}

// trigger causes an event.
func (d *developer) trigger(args ...string) (string, error) {
	var out bytes.Buffer
	err := trigger.Run(d.t.Context(), args, d.terminal(), &out)
	return out.String(), err
}

// screen collects what a command prints.
type screen struct{ logtest.Log }

// until waits for a text that matches, and returns its first group.
func (s *screen) until(t *testing.T, pattern string) string {
	t.Helper()
	found := []string{}
	worktest.Until(t, pattern+" is printed", func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(s.String())
		return found != nil
	})
	return found[len(found)-1]
}

// listening is one run of orgops listen --forward-to.
type listening struct {
	*screen
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
}

func (d *developer) listen(forward string, args ...string) *listening {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	l := &listening{screen: &screen{}, t: d.t, stop: stop, ended: make(chan error, 1)}
	args = append([]string{"--forward-to", forward, "--interval", "100ms"}, args...)
	go func() { l.ended <- listen.Run(ctx, args, d.terminal(), l) }()
	d.t.Cleanup(stop)
	return l
}

// end stops the command as Ctrl-C does.
func (l *listening) end() {
	l.t.Helper()
	l.stop()
	if err := <-l.ended; err != nil {
		l.t.Errorf("listen ended with %v, want no error", err)
	}
}

// endpoints lists the company's integrations that a session made.
func (d *developer) endpoints() []string {
	d.t.Helper()
	var all struct{ Items []struct{ Provider string } }
	errtest.Must(d.t, d.api.Do(d.t.Context(), "GET", "/integrations", nil, &all))
	names := []string{}
	for _, i := range all.Items {
		if strings.HasPrefix(i.Provider, "webhook-listen-") {
			names = append(names, i.Provider)
		}
	}
	return names
}

// receiver keeps what verifies with its secret.
type receiver struct {
	secret atomic.Value

	mu      sync.Mutex
	types   []string
	ids     []string
	refused []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	secret, _ := r.secret.Load().(string)
	id, err := standardwebhooks.Verify([]string{secret}, req.Header, body, time.Now())
	var e event.Event
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if encoding := req.Header.Get("Accept-Encoding"); err == nil && encoding != "" {
		err = fmt.Errorf("Accept-Encoding is %q, want none, as in production", encoding)
	}
	if err == nil && e.ID != id {
		err = fmt.Errorf("webhook-id is %s, and the event's id %s", id, e.ID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.refused = append(r.refused, err.Error())
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.types, r.ids = append(r.types, e.Type), append(r.ids, id)
	w.WriteHeader(http.StatusNoContent)
}

// got returns the types so far, in order, without the timeline's.
func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.types), func(name string) bool { return name == event.TimelineEntryCreated })
}

func (r *receiver) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) > 0 {
		t.Errorf("refused %d deliveries, want 0: %v", len(r.refused), r.refused)
	}
	ids := slices.Sorted(slices.Values(r.ids))
	if once := slices.Compact(slices.Clone(ids)); len(once) != len(ids) {
		t.Errorf("%d deliveries with %d ids, want each id once", len(ids), len(once))
	}
}

// TestListen_EveryEvent triggers every event of the catalogue and relays it to a receiver that verifies.
func TestListen_EveryEvent(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	r := &receiver{}
	server := httptest.NewServer(r)
	defer server.Close()
	l := d.listen(server.URL + "/hooks")
	secret := l.until(t, `session: (whsec_\S+)`)
	s.Log.KeepOut(secret)
	r.secret.Store(secret)

	if _, err := d.trigger("memory.synced"); !strings.Contains(errtest.Message(err), "configure and certify one first") {
		t.Errorf("trigger memory.synced without a source: %v, want an error that says to certify one", err)
	}
	d.feed()
	want := []string{}
	for _, step := range []struct {
		event string
		want  []string
	}{
		{"memory.created", []string{"memory.created"}},
		{"memory.updated", []string{"memory.created", "memory.updated"}},
		{"goal.updated", []string{"goal.updated"}},
		{"goal.alignment.changed", []string{"goal.updated", "goal.updated", "goal.alignment.changed", "goal.updated", "goal.alignment.changed"}},
		{"timeline.entry.created", nil},
		{"memory.synced", []string{"memory.created", "memory.synced", "integration.sync.completed"}},
		{"integration.sync.completed", []string{"memory.synced", "integration.sync.completed"}},
	} {
		printed, err := d.trigger(step.event)
		if err != nil {
			t.Fatalf("trigger %s: %v", step.event, err)
		}
		if line := regexp.MustCompile(`^\S.*: \w+ (a note with the subject )?[0-9a-f]{8}-[0-9a-f-]{27}\n`); !line.MatchString(printed) {
			t.Errorf("trigger %s printed %q, want a line that matches %s", step.event, printed, line)
		}
		want = append(want, step.want...)
		worktest.Until(t, step.event+" is relayed", func() bool { return len(r.got()) >= len(want) })
	}
	l.until(t, `timeline\.entry\.created`)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(r.got()))); diff != "" {
		t.Errorf("relayed events differ (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  memory\.created +\S+ -> 204 No Content \(\d+ ms\)$`).MatchString(l.String()) {
		t.Errorf("printed %q, want a line with time, event, id, status and duration", l.String())
	}
	if got := len(d.endpoints()); got != 1 {
		t.Errorf("%d endpoints while it listens, want 1", got)
	}
	l.end()
	r.check(t)
	if got := d.endpoints(); len(got) > 0 {
		t.Errorf("endpoints %v are left, want none", got)
	}
}

// feed configures and certifies a feed with one entry.
func (d *developer) feed() {
	d.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[{"id":"1","title":"One","content_text":"one"}]}`)
	}))
	d.t.Cleanup(server.Close)
	errtest.Must(d.t, d.api.Do(d.t.Context(), "POST", "/integrations/feed", map[string]string{"url": server.URL}, nil))
	errtest.Must(d.t, d.api.Do(d.t.Context(), "POST", "/integrations/feed/certification", nil, nil))
}

// TestListen_Idle counts the seconds between the questions of a session to which nothing happens for an hour, and then an event.
func TestListen_Idle(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	r, l := &receiver{}, &screen{}
	const secret = "whsec_c2Vzc2lvbnNlc3Npb25zZXNzaW9uc2Vzc2lvbnM="
	r.secret.Store(secret)
	server := httptest.NewServer(r)
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun := time.Now()
	now, longest, count, after := begun, time.Duration(0), 0, time.Duration(0)
	wait := func(_ context.Context, pause time.Duration) bool {
		switch {
		case now.Sub(begun) < time.Hour:
			longest = max(longest, pause)
			count++
		case len(r.got()) == 0:
			if count > 0 { // once
				count = -count
				if _, err := d.trigger("memory.created"); err != nil {
					t.Error(err)
					stop()
				}
			}
		default:
			after = pause
			stop()
		}
		now = now.Add(pause)
		return true
	}
	errtest.Must(t, relay.Run(ctx, d.api, relay.Options{
		Forward: server.URL, Events: []string{"memory.*"}, Secret: secret, Interval: time.Second, Out: l,
		Now: func() time.Time { return now }, Wait: wait,
	}))
	if want := 15 * time.Second; longest != want {
		t.Errorf("waited %v at most, want %v", longest, want)
	}
	if most := 350; -count > most {
		t.Errorf("asked %d times in an idle hour, want %d at most", -count, most)
	}
	if after != time.Second {
		t.Errorf("waited %v after an event, want 1s", after)
	}
}

// TestListen_Left starts a session while the endpoint of another one is there.
func TestListen_Left(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	errtest.Must(t, d.api.Do(t.Context(), "POST", "/integrations/webhook-listen-killed", map[string]any{"url": "https://relay.invalid/", "events": []string{"memory.*"}}, nil))
	l := d.listen("http://127.0.0.1:1")
	s.Log.KeepOut(l.until(t, `session: (whsec_\S+)`))
	l.until(t, "another endpoint of orgops listen: webhook-listen-killed; if its session has ended, remove it with DELETE …/integrations/webhook-listen-killed\n")
	l.end()
	if diff := cmp.Diff([]string{"webhook-listen-killed"}, d.endpoints()); diff != "" {
		t.Errorf("endpoints after the session (-want +got):\n%s", diff)
	}
}

// TestListen_Receiver starts the receiver after the first event, and relays a refusal once.
func TestListen_Receiver(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	addr := closed.Addr().String()
	errtest.Must(t, closed.Close())
	const secret = "whsec_c2Vzc2lvbnNlc3Npb25zZXNzaW9uc2Vzc2lvbnM="
	l := d.listen("http://"+addr, "--events", "memory.*", "--secret", secret)
	l.until(t, `relaying memory\.\*`)
	if _, err := d.trigger("memory.created"); err != nil {
		t.Fatal(err)
	}
	l.until(t, "waiting for a receiver")
	r := &receiver{}
	r.secret.Store("whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVyb3Q=")
	open, err := net.Listen("tcp", addr)
	errtest.Must(t, err)
	server := httptest.NewUnstartedServer(r)
	server.Listener.Close()
	server.Listener = open
	server.Start()
	defer server.Close()
	l.until(t, "-> 401 Unauthorized")
	r.secret.Store(secret)
	if _, err := d.trigger("memory.updated"); err != nil {
		t.Fatal(err)
	}
	worktest.Until(t, "the next events are relayed", func() bool { return len(r.got()) == 2 })
	l.end()
	if diff := cmp.Diff([]string{"memory.created", "memory.updated"}, r.got()); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	if len(r.refused) != 1 {
		t.Errorf("refused %d deliveries, want 1: an answer is not repeated", len(r.refused))
	}
}

// TestListen_Outage makes the service fail for a while, which loses no event and repeats none.
func TestListen_Outage(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	target, err := url.Parse(s.URL)
	errtest.Must(t, err)
	var down atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if down.Load() {
			http.Error(w, "upstream is down", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	defer front.Close()
	d := develop(t, s, front.URL)
	r := &receiver{}
	server := httptest.NewServer(r)
	defer server.Close()
	l := d.listen(server.URL, "--events", "memory.created")
	r.secret.Store(l.until(t, `session: (whsec_\S+)`))
	before := *d
	before.base = s.URL // triggers pass the proxy by
	for n := range 3 {
		down.Store(n == 1)
		if n == 1 {
			l.until(t, "trying again in 500ms: .* was answered 502: upstream is down")
		}
		if _, err := before.trigger("memory.created"); err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			worktest.Until(t, "the events so far are relayed", func() bool { return len(r.got()) >= n+1 })
		}
	}
	l.end()
	r.check(t)
}

func TestListen_Refused(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	nobody := *d
	nobody.Password = "wrong"
	anywhere := []string{"--forward-to", "http://127.0.0.1:1"}
	for _, tt := range []struct {
		who  *developer
		args []string
		want string
	}{
		{d, []string{"--forward-to", "127.0.0.1:3000"}, "is not a url such as http://127.0.0.1:3000/hooks"},
		{d, append(anywhere, "--events", "memory.deleted"), "memory.created"},
		{d, append(anywhere, "--interval", "1ms"), "--interval: at least 100ms"},
		{d, append(anywhere, "--secret", "short"), "--secret: invalid: a signing secret begins with whsec_"},
		{d, []string{"--events", "memory.*", "--email", d.Email}, "--events needs --forward-to"},
		{d, []string{"--email", d.Email}, "--email needs --forward-to"},
		{d, append(anywhere, "--addr", "127.0.0.1:1"), "--addr has no effect with --forward-to"},
		{d, append(anywhere, "--colour"), "flag provided but not defined: -colour; see --help"},
		{d, append(anywhere, "--email", ""), "--email: say who logs in"},
		{d, append(anywhere, "--api", "http://orgops.example.com"), "would send the password unencrypted; use https"},
		{d, append(anywhere, "more"), `listen takes no argument "more"`},
		{&nobody, anywhere, "the e-mail address or the password is wrong"},
	} {
		err := listen.Run(t.Context(), tt.args, tt.who.terminal(), io.Discard)
		if got := errtest.Message(err); !strings.Contains(got, tt.want) {
			t.Errorf("listen %v: %q, want %q in it", tt.args, got, tt.want)
		}
	}
}

// TestHelp looks for the syntax, an example, the events and the flags in the help of both commands.
func TestHelp(t *testing.T) {
	t.Parallel()
	terminal := apiclient.Terminal{Getenv: func(string) string { return "" }}
	for name, run := range map[string]func(context.Context, []string, apiclient.Terminal, io.Writer) error{"listen": listen.Run, "trigger": trigger.Run} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"--help"}, terminal, &out); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s --help returned %v, want %v", name, err, flag.ErrHelp)
		}
		for _, want := range append(event.Contract(), "usage:\n  orgops "+name, "example:\n  orgops "+name, "flags:\n", "-email") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s --help printed %q, want %q in it", name, out.String(), want)
			}
		}
	}
}

func TestTrigger_Refused(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	listed, err := d.trigger()
	errtest.Must(t, err)
	for _, name := range event.Contract() {
		if !strings.Contains(listed, name) {
			t.Errorf("trigger lists %q, want %s in it", listed, name)
		}
	}
	_, err = d.trigger("memory.deleted")
	if got, want := errtest.Message(err), `there is no event "memory.deleted"; the events are memory.created, `; !strings.Contains(got, want) {
		t.Errorf("trigger memory.deleted: %q, want %q in it", got, want)
	}
	errtest.Must(t, d.api.Do(t.Context(), "PUT", "/operations/policies", map[string]any{"policies": []map[string]any{{
		"id": "no-memories", "mode": "enforce", "text": `@reason("no memories") forbid (principal, action == Action::"memory.upsert", resource);`,
	}}}, nil))
	_, err = d.trigger("memory.created")
	if got, want := errtest.Message(err), "memory.upsert was denied; the decision "; !strings.Contains(got, want) {
		t.Errorf("trigger under a policy that forbids it: %q, want %q in it", got, want)
	}
}

// TestTrigger_Other leaves a founder's own endpoint alone that has the name of trigger's.
func TestTrigger_Other(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	d := develop(t, s, s.URL)
	own := map[string]any{"url": "https://example.com/hooks", "events": []string{"memory.*"}}
	const at = "/integrations/webhook-trigger"
	errtest.Must(t, d.api.Do(t.Context(), "POST", at, own, nil))
	version := func() (shown struct{ Version int64 }) {
		errtest.Must(t, d.api.Do(t.Context(), "GET", at, nil, &shown))
		return shown
	}
	before := version()
	_, err := d.trigger("memory.created")
	if got, want := errtest.Message(err), "sends to https://example.com/hooks"; !strings.Contains(got, want) {
		t.Errorf("trigger: %q, want %q in it", got, want)
	}
	if after := version(); after != before {
		t.Errorf("the endpoint has version %d after trigger, want %d", after.Version, before.Version)
	}
	if got := apiclient.StatusOf(d.api.Create(t.Context(), at, own, nil)); got != http.StatusPreconditionFailed {
		t.Errorf("a creation of what exists is answered %d, want 412", got)
	}
}
