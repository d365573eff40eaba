package process_test

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// TestOpen_Exposed lets endpoints and feeds be on this machine only while no other machine reaches the service, or if the
// operator allows the network. Otherwise a stranger's endpoint could reach what listens on this machine alone. A service
// that others reach without TLS says so.
func TestOpen_Exposed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		addr            string
		networks        []netip.Prefix
		proxies         []netip.Prefix
		reaches, warned bool
	}{
		"loopback":           {"127.0.0.1:4000", nil, nil, true, false},
		"another loopback":   {"127.8.8.8:4000", nil, nil, true, false},
		"IPv6 loopback":      {"[::1]:4000", nil, nil, true, false},
		"localhost":          {"localhost:4000", nil, nil, true, false},
		"all addresses":      {":4000", nil, nil, false, true},
		"all IPv4 addresses": {"0.0.0.0:4000", nil, nil, false, true},
		"all IPv6 addresses": {"[::]:4000", nil, nil, false, true},
		"a private address":  {"10.1.2.3:4000", nil, nil, false, true},
		"a public address":   {"203.0.113.7:80", nil, nil, false, true},
		"a name":             {"ops.example.com:80", nil, nil, false, true},
		"allowed":            {"0.0.0.0:4000", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil, true, true},
		"another is allowed": {"0.0.0.0:4000", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, nil, false, true},
		"behind a proxy":     {"127.0.0.1:4000", nil, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, false, false},
		"allowed behind one": {"127.0.0.1:4000", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, true, false},
		"a proxy elsewhere":  {"0.0.0.0:4000", nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			c := config.Config{Data: t.TempDir(), Addr: tt.addr, Issuer: "https://orgops.test", Audience: "orgops", AllowNetworks: tt.networks, Proxies: tt.proxies}
			p, err := process.Open(t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)))
			errtest.Must(t, err)
			defer p.Close()
			for _, url := range []string{"http://127.0.0.1:9/", "http://localhost:9/"} {
				problems := p.Services.Client.CheckURL("/url", url)
				if got := len(problems) == 0; got != tt.reaches {
					t.Errorf("%s may be called: %t, want %t: %v", url, got, tt.reaches, problems)
				}
			}
			if got := strings.Contains(log.String(), "level=WARN"); got != tt.warned {
				t.Errorf("warned: %t, want %t: %s", got, tt.warned, &log)
			}
		})
	}
}
