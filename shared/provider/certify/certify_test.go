package certify_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/certify"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

// source implements connector.Source with a function.
type source func(f connector.Fetch) (connector.FetchedPage, error)

func (source) Kind() string            { return "source" }
func (source) Schema() json.RawMessage { return json.RawMessage(`{}`) }
func (source) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert}
}
func (s source) Fetch(_ context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	return s(f)
}

func examiner(connectors ...connector.Connector) certify.Examiner {
	client := outbound.New(outbound.Options{AllowLoopback: true})
	return certify.Examiner{
		Connectors: connector.New(append(connectors, genericwebhook.New(client))...), Client: client, Engine: policy.Rules{Now: time.Now}, Now: time.Now,
	}
}

func candidate(t *testing.T, provider, config string, secrets integration.Secrets, ports ...integration.Port) certify.Candidate {
	t.Helper()
	return certify.Candidate{
		Company: store.For(webtest.OpenStore(t), "a"), Secrets: secrets,
		Integration: integration.Integration{Provider: provider, Enabled: true, Config: json.RawMessage(config), Permissions: ports},
	}
}

func check(t *testing.T, r integration.Report, id string) integration.Check {
	t.Helper()
	n := slices.IndexFunc(r.Checks, func(c integration.Check) bool { return c.ID == id })
	if n < 0 {
		t.Fatalf("no check %s in %+v", id, r.Checks)
	}
	return r.Checks[n]
}

// The check fails if wrong credentials fetch the same page.
func TestRun_Credentials(t *testing.T) {
	t.Parallel()
	items := connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "1", Title: "one"}}}
	guarded := func(refusal error) source {
		return func(f connector.Fetch) (connector.FetchedPage, error) {
			if f.Credentials["token"] != "right" {
				return connector.FetchedPage{}, refusal
			}
			return items, nil
		}
	}
	tests := []struct {
		name   string
		source source
		token  string
		passed bool
		status integration.Result
		reason string
	}{
		{"checked by the provider", guarded(fault.New(fault.Unavailable, "answers 401")), "right", true, integration.Pass, "refused with wrong ones"},
		{"ignored by the provider", func(connector.Fetch) (connector.FetchedPage, error) { return items, nil }, "right", false, integration.Fail, "delete the stored ones"},
		{"not needed", func(connector.Fetch) (connector.FetchedPage, error) { return items, nil }, "", true, integration.NotApplicable, "no credentials are stored"},
		{"throttled with wrong ones", guarded(&connector.ThrottledError{Until: time.Now()}), "right", false, integration.Fail, "certify again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			secrets := integration.Secrets{}
			if tt.token != "" {
				secrets.Values = map[string]string{"token": tt.token}
			}
			r, err := examiner(tt.source).Run(t.Context(), candidate(t, "source", `{}`, secrets, integration.SyncPull, integration.MemoryUpsert))
			if err != nil || r.Passed != tt.passed {
				t.Fatalf("%+v, %v", r, err)
			}
			if c := check(t, r, "credentials"); c.Status != tt.status || !strings.Contains(c.Reason, tt.reason) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestRun_Source(t *testing.T) {
	t.Parallel()
	fetch := func(p connector.FetchedPage, err error) source {
		return func(f connector.Fetch) (connector.FetchedPage, error) {
			if !f.Full || f.State != nil || f.Checkpoint != nil {
				return connector.FetchedPage{}, errors.New("not a clean fetch")
			}
			return p, err
		}
	}
	tests := []struct {
		name   string
		source source
		check  string
		status integration.Result
		reason string
	}{
		{"an empty page", fetch(connector.FetchedPage{}, nil), "sandbox-page", integration.Pass, "0 items"},
		{"a fault is shown", fetch(connector.FetchedPage{}, fault.New(fault.Unavailable, "answers 404")), "sandbox-page", integration.Fail, "answers 404"},
		{"another error is hidden", fetch(connector.FetchedPage{}, errors.New("s3cr3t")), "sandbox-page", integration.Fail, "could not be fetched"},
		{"throttled", fetch(connector.FetchedPage{}, &connector.ThrottledError{Until: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}), "sandbox-page", integration.Fail, "until 2026-05-01T12:00:00Z"},
		{"items that do not validate", fetch(connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "1", Title: "t"}, {Title: "t"}, {ExternalID: "2"}}}, nil), "sandbox-page", integration.Fail, "2 of 3 items"},
		{"goals without the permission", fetch(connector.FetchedPage{Goals: []goal.Draft{{ExternalID: "1", Title: "t", State: goal.Open}}}, nil), "ports-used", integration.Fail, "the page holds goals"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := examiner(tt.source).Run(t.Context(), candidate(t, "source", `{}`, integration.Secrets{}, integration.SyncPull, integration.MemoryUpsert))
			errtest.Must(t, err)
			if c := check(t, r, tt.check); c.Status != tt.status || !strings.Contains(c.Reason, tt.reason) || r.Passed != (tt.status == integration.Pass) {
				t.Errorf("%+v", r)
			}
		})
	}
	r, err := examiner(fetch(connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "1", Title: "t"}}}, nil)).
		Run(t.Context(), candidate(t, "source", `{}`, integration.Secrets{}, integration.SyncPull))
	errtest.Must(t, err)
	if c := check(t, r, "ports-used"); c.Status != integration.Fail || !strings.Contains(c.Reason, "the page holds memories") {
		t.Errorf("%+v", c)
	}
}

// An unusable configuration or missing secret fails the check before any request is sent.
func TestRun_EndpointUnusable(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(receiver.Close)
	signed := integration.Secrets{}.Rotate(secret, time.Now())
	tests := []struct {
		name, config string
		secrets      integration.Secrets
		check        string
		reason       string
	}{
		{"a private address", `{"url":"https://10.0.0.1/"}`, signed, "url-allowed", "10.0.0.1 is not public"},
		{"no address", `{}`, signed, "url-allowed", "absolute"},
		{"not an object", `[]`, signed, "url-allowed", "configure it again"},
		{"no secret", `{"url":"` + receiver.URL + `"}`, integration.Secrets{}, "accepts-signed", "no signing secret"},
	}
	for _, tt := range tests {
		r, err := examiner().Run(t.Context(), candidate(t, "webhook", tt.config, tt.secrets, integration.EventDeliver))
		errtest.Must(t, err)
		if c := check(t, r, tt.check); c.Status != integration.Fail || !strings.Contains(c.Reason, tt.reason) || r.Passed {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

// The check passes with any verdict: denied proves as much as permitted.
func TestRun_Inbound(t *testing.T) {
	t.Parallel()
	secrets := integration.Secrets{}.Rotate(secret, time.Now())
	for _, permitted := range []bool{true, false} {
		ports := []integration.Port{integration.InboundReceive}
		verdict := "memory.upsert denied"
		if permitted {
			ports, verdict = append(ports, integration.MemoryUpsert), "memory.upsert permitted"
		}
		r, err := examiner().Run(t.Context(), candidate(t, "webhook", `{}`, secrets, ports...))
		if err != nil || !r.Passed || !slices.Equal(r.Ports, []integration.Port{integration.InboundReceive}) || r.Suite != certify.Suite || r.ConfigDigest == "" {
			t.Fatalf("%+v, %v", r, err)
		}
		if c := check(t, r, "maps-signed"); !strings.Contains(c.Reason, verdict) {
			t.Errorf("%+v", c)
		}
	}
}

func TestRun_Errors(t *testing.T) {
	t.Parallel()
	if _, err := examiner().Run(t.Context(), candidate(t, "gitlab", `{}`, integration.Secrets{})); fault.KindOf(err) != fault.NotFound {
		t.Errorf("unknown: %v", err)
	}
	r, err := examiner().Run(t.Context(), candidate(t, "webhook", `{}`, integration.Secrets{}))
	if err != nil || r.Passed || r.Checks == nil || r.Ports == nil {
		t.Errorf("no ports: %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := candidate(t, "webhook", `{"url":"http://127.0.0.1:1/"}`, integration.Secrets{}.Rotate(secret, time.Now()), integration.EventDeliver)
	if _, err := examiner().Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
