package egress_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/egress"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// network implements http.RoundTripper. It records the hosts that requests reach.
type network struct{ reached []string }

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	n.reached = append(n.reached, req.URL.Host)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// A policy about a host holds for every spelling that leads to it.
func TestGate_Fetch_Spellings(t *testing.T) {
	t.Parallel()
	company := store.For(webtest.OpenStore(t), "a")
	errtest.Must(t, company.Commit(t.Context(), policy.Save(company, 0, policy.Stored{Policies: []policy.Statement{{
		ID: "blocked", Mode: policy.Enforce, Text: `forbid (principal, action, resource) when {
			[Host::"api.github.com", Host::"xn--bcher-kva.example", Host::"2606:4700::1111", Host::"93.184.215.14"].contains(resource) };`,
	}}})))
	gate := egress.Gate{Engine: policyengine.New(time.Now), Company: company, Now: time.Now, Integration: integration.Integration{
		Provider: "github", Enabled: true, Permissions: []integration.Port{integration.SyncPull},
	}}
	tests := []struct {
		host    string
		refused bool
	}{
		{"api.github.com", true},
		{"API.GitHub.com", true},
		{"api.github.com.", true},
		{"api.github.com.:443", true},
		{"ａｐｉ.GitHub.com", true},
		{"%EF%BD%81pi.github.com", true},
		{"api。github．com｡", true},
		{"Bücher.example", true},
		{"xn--Bcher-kva.example", true},
		{"[2606:4700:0:0::1111]", true},
		{"[::FFFF:93.184.215.14]:8443", true},
		{"９３.184.215.14", true},
		{"uploads.github.com.", false},
		{"bücher.github.com", true},
	}
	for _, tt := range tests {
		n := &network{}
		client := outbound.New(outbound.Options{Transport: n})
		_, decided, err := gate.Fetch(t.Context(), func(ctx context.Context) (connector.FetchedPage, error) {
			answer, err := client.Do(httptest.NewRequestWithContext(ctx, http.MethodGet, "https://"+tt.host+"/", nil))
			if err != nil {
				return connector.FetchedPage{}, err
			}
			return connector.FetchedPage{}, answer.Body.Close()
		})
		if got := decided.Refusal != nil; got != tt.refused {
			t.Errorf("%s: refused = %t, want %t: %v", tt.host, got, tt.refused, err)
		}
		if got := fault.KindOf(err) == fault.Forbidden; got != tt.refused {
			t.Errorf("%s: err = %v, want one of kind forbidden: %t", tt.host, err, tt.refused)
		}
		if got := len(n.reached) == 0; got != tt.refused {
			t.Errorf("%s: the request reached %v, want it kept back: %t", tt.host, n.reached, tt.refused)
		}
	}
}
