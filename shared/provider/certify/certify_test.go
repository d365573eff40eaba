package certify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/fault"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/certify"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/policyengine"
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
		Connectors: connector.New(append(connectors, genericwebhook.New(client))...), Client: client, Engine: policyengine.New(time.Now), Now: time.Now, Mappings: new(mapping.Cache),
	}
}

func candidate(t *testing.T, provider, config string, secrets integration.Secrets, ports ...integration.Port) certify.Candidate {
	t.Helper()
	return certify.Candidate{
		Company: store.For(webtest.OpenStore(t), "a"), Secrets: secrets, Credentials: secrets.Values,
		Integration: integration.Integration{Provider: provider, Enabled: true, Config: json.RawMessage(config), Permissions: ports},
	}
}

func check(t *testing.T, r integration.PortReport, id string) integration.PortCheck {
	t.Helper()
	n := slices.IndexFunc(r.Checks, func(c integration.PortCheck) bool { return c.ID == id })
	if n < 0 {
		t.Fatalf("no check %s in %+v", id, r.Checks)
	}
	return r.Checks[n]
}

func checkResult(t *testing.T, r integration.PortReport, id string, status finding.Status, reason string) {
	t.Helper()
	c := check(t, r, id)
	if c.Status != status {
		t.Errorf("%s: status = %s, want %s", id, c.Status, status)
	}
	if !strings.Contains(c.Reason, reason) {
		t.Errorf("%s: reason = %q, want one with %q", id, c.Reason, reason)
	}
}

// The check fails if wrong credentials fetch the same page.
func TestExaminer_Run_Credentials(t *testing.T) {
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
		status finding.Status
		reason string
	}{
		{"checked by the provider", guarded(fault.New(fault.Unavailable, "answers 401")), "right", true, finding.Pass, "refused with wrong ones"},
		{"ignored by the provider", func(connector.Fetch) (connector.FetchedPage, error) { return items, nil }, "right", false, finding.Fail, "delete the stored ones"},
		{"not needed", func(connector.Fetch) (connector.FetchedPage, error) { return items, nil }, "", true, finding.NotApplicable, "no credentials are stored"},
		{"fewer rows with wrong ones", func(f connector.Fetch) (connector.FetchedPage, error) {
			if f.Credentials["token"] == "right" {
				return items, nil
			}
			return connector.FetchedPage{}, nil
		}, "right", true, finding.Warn, "hides items instead of refusing"},
		{"no rows at all", func(connector.Fetch) (connector.FetchedPage, error) { return connector.FetchedPage{}, nil }, "right", true,
			finding.NotApplicable, "certify again when the list has items"},
		{"throttled with wrong ones", guarded(&connector.ThrottledError{Until: time.Now()}), "right", false, finding.Fail, "certify again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			secrets := integration.Secrets{}
			if tt.token != "" {
				secrets.Values = map[string]string{"token": tt.token}
			}
			r, err := examiner(tt.source).Run(t.Context(), candidate(t, "source", `{}`, secrets, integration.SyncPull, integration.MemoryUpsert))
			errtest.Must(t, err)
			if r.Passed != tt.passed {
				t.Fatalf("passed = %t, want %t: %+v", r.Passed, tt.passed, r)
			}
			checkResult(t, r, "credentials", tt.status, tt.reason)
		})
	}
}

func TestExaminer_Run_Source(t *testing.T) {
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
		status finding.Status
		reason string
	}{
		{"an empty page", fetch(connector.FetchedPage{}, nil), "sandbox-page", finding.Pass, "0 items"},
		{"a fault is shown", fetch(connector.FetchedPage{}, fault.New(fault.Unavailable, "answers 404")), "sandbox-page", finding.Fail, "answers 404"},
		{"another error is hidden", fetch(connector.FetchedPage{}, errors.New("s3cr3t")), "sandbox-page", finding.Fail, "could not be fetched"},
		{"throttled", fetch(connector.FetchedPage{}, &connector.ThrottledError{Until: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}), "sandbox-page", finding.Fail, "until 2026-05-01T12:00:00Z"},
		{"some items do not validate", fetch(connector.FetchedPage{
			Memories: []memory.Draft{{ExternalID: "1", Title: "t"}, {Title: "untitled"}}, Skipped: []connector.Skipped{{Item: "7", Reason: "cut off"}},
		}, nil), "sandbox-page", finding.Warn, `2 of 3 items do not validate, and each sync leaves them out: cut off ("7")`},
		{"no item validates", fetch(connector.FetchedPage{Memories: []memory.Draft{{Title: "t"}, {ExternalID: "2"}}}, nil), "sandbox-page", finding.Fail,
			`2 of 2 items do not validate: externalId needs 1 to 512 bytes ("t")`},
		{"a warning", fetch(connector.FetchedPage{Warnings: []string{"look at it"}}, nil), "sandbox-page", finding.Warn, "0 items; look at it"},
		{"goals without the permission", fetch(connector.FetchedPage{Goals: []goal.Draft{{ExternalID: "1", Title: "t", State: goal.Open}}}, nil), "ports-used", finding.Fail, "the page holds goals"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := examiner(tt.source).Run(t.Context(), candidate(t, "source", `{}`, integration.Secrets{}, integration.SyncPull, integration.MemoryUpsert))
			errtest.Must(t, err)
			checkResult(t, r, tt.check, tt.status, tt.reason)
			if want := tt.status != finding.Fail; r.Passed != want {
				t.Errorf("passed = %t, want %t: %+v", r.Passed, want, r)
			}
		})
	}
	r, err := examiner(fetch(connector.FetchedPage{Memories: []memory.Draft{{ExternalID: "1", Title: "t"}}}, nil)).
		Run(t.Context(), candidate(t, "source", `{}`, integration.Secrets{}, integration.SyncPull))
	errtest.Must(t, err)
	checkResult(t, r, "ports-used", finding.Fail, "the page holds memories")
}

// hosts implements connector.Source. It asks the configured address, or localhost instead of it with wrong credentials.
type hosts struct {
	source
	client *outbound.Client
}

func (h hosts) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	var config struct{ URL string }
	if err := json.Unmarshal(f.Config, &config); err != nil {
		return connector.FetchedPage{}, err
	}
	if f.Credentials["token"] != "right" {
		config.URL = strings.Replace(config.URL, "127.0.0.1", "localhost", 1)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.URL, nil)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	answer, err := h.client.Do(req)
	if err != nil {
		return connector.FetchedPage{}, errors.New("hides the refusal")
	}
	return connector.FetchedPage{}, answer.Body.Close()
}

// A host that a policy of the company forbids gets no request, and the check fails with the policy's reason. The integration need
// not be enabled or certified before its certification.
func TestExaminer_Run_Host(t *testing.T) {
	t.Parallel()
	const policies = `@reason("only %s is known") forbid (principal, action == Action::"sync.fetch", resource) unless { resource == Host::%q && principal.enabled && principal.certified };`
	tests := []struct {
		name, known, check string
		requests           int64
		reason             string
	}{
		{"unknown", "example.com", "sandbox-page", 0, "the policies refuse a fetch from 127.0.0.1: only example.com is known"},
		{"with wrong credentials", "127.0.0.1", "credentials", 1, "the policies refuse a fetch from localhost: only 127.0.0.1 is known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			t.Cleanup(server.Close)
			c := candidate(t, "source", `{"url":"`+server.URL+`"}`, integration.Secrets{Values: map[string]string{"token": "right"}}, integration.SyncPull)
			c.Integration.Enabled = false
			errtest.Must(t, c.Company.Commit(t.Context(), policy.Save(c.Company, 0, policy.Stored{Policies: []policy.Statement{
				{ID: "known-hosts", Mode: policy.Enforce, Text: fmt.Sprintf(policies, tt.known, tt.known)},
			}})))
			r, err := examiner(hosts{client: outbound.New(outbound.Options{AllowLoopback: true})}).Run(t.Context(), c)
			errtest.Must(t, err)
			checkResult(t, r, tt.check, finding.Fail, tt.reason)
			remedy := finding.Remedy{Operation: "put-policies", Method: "PUT", Href: "/operations/policies"}
			if diff := cmp.Diff(&remedy, check(t, r, tt.check).Remedy); diff != "" {
				t.Errorf("remedy differs (-want +got):\n%s", diff)
			}
			if got := requests.Load(); got != tt.requests {
				t.Errorf("requests = %d, want %d", got, tt.requests)
			}
		})
	}
}

// An unusable configuration or missing secret fails the check before any request is sent.
func TestExaminer_Run_EndpointUnusable(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(receiver.Close)
	signed := integration.Secrets{}.Rotate(secret, time.Now(), integration.RotationGrace)
	tests := []struct {
		name, config string
		secrets      integration.Secrets
		check        string
		reason       string
	}{
		{"a private address", `{"url":"https://10.0.0.1/"}`, signed, "url-allowed", "the host's address is not public"},
		{"no address", `{}`, signed, "url-allowed", "absolute"},
		{"not an object", `[]`, signed, "url-allowed", "configure it again"},
		{"no secret", `{"url":"` + receiver.URL + `"}`, integration.Secrets{}, "accepts-signed", "no signing secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := examiner().Run(t.Context(), candidate(t, "webhook", tt.config, tt.secrets, integration.EventDeliver))
			errtest.Must(t, err)
			checkResult(t, r, tt.check, finding.Fail, tt.reason)
			if r.Passed {
				t.Errorf("passed = true, want false: %+v", r)
			}
		})
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("requests = %d, want 0", n)
	}
}

// The check passes with any verdict: denied proves as much as permitted.
func TestExaminer_Run_Inbound(t *testing.T) {
	t.Parallel()
	secrets := integration.Secrets{}.Rotate(secret, time.Now(), integration.RotationGrace)
	for _, permitted := range []bool{true, false} {
		ports := []integration.Port{integration.InboundReceive}
		verdict := "memory.upsert (denied)"
		if permitted {
			ports, verdict = append(ports, integration.MemoryUpsert), "memory.upsert (permitted)"
		}
		r, err := examiner().Run(t.Context(), candidate(t, "webhook", `{}`, secrets, ports...))
		errtest.Must(t, err)
		want := integration.PortReport{
			Report: finding.Report[integration.PortCheck]{Suite: certify.Suite, Passed: true}, Ports: []integration.Port{integration.InboundReceive},
		}
		if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(r, "ConfigDigest", "Report.At", "Report.Checks")); diff != "" {
			t.Fatalf("report differs (-want +got):\n%s", diff)
		}
		if r.ConfigDigest == "" {
			t.Error("the report has no ConfigDigest")
		}
		if c := check(t, r, "maps-signed"); !strings.Contains(c.Reason, verdict) {
			t.Errorf("reason = %q, want one with %q", c.Reason, verdict)
		}
	}
}

func TestExaminer_Run_Errors(t *testing.T) {
	t.Parallel()
	if _, err := examiner().Run(t.Context(), candidate(t, "unknown", `{}`, integration.Secrets{})); fault.KindOf(err) != fault.NotFound {
		t.Errorf("unknown provider: err = %v, want not found", err)
	}
	r, err := examiner().Run(t.Context(), candidate(t, "webhook", `{}`, integration.Secrets{}))
	errtest.Must(t, err)
	want := integration.PortReport{
		Report: finding.Report[integration.PortCheck]{Suite: certify.Suite, Checks: []integration.PortCheck{}}, Ports: []integration.Port{},
	}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(r, "ConfigDigest", "Report.At")); diff != "" {
		t.Errorf("report without ports differs (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := candidate(t, "webhook", `{"url":"http://127.0.0.1:1/"}`, integration.Secrets{}.Rotate(secret, time.Now(), integration.RotationGrace), integration.EventDeliver)
	if _, err := examiner().Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: err = %v, want %v", err, context.Canceled)
	}
}
