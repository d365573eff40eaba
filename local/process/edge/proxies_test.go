package edge_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"orgops/local/process/edge"
)

func proxies() edge.Proxies {
	return edge.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("fd00::/8")}
}

// TestProxies_Client takes the last hop that is no trusted proxy, and no header of any other client.
func TestProxies_Client(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1"
	for name, tt := range map[string]struct {
		peer      string
		forwarded []string
		listed    []string
		want      string
	}{
		"no header":                       {proxy, nil, nil, proxy},
		"an untrusted connection":         {"203.0.113.9", []string{"for=198.51.100.1"}, []string{"198.51.100.1"}, "203.0.113.9"},
		"one hop":                         {proxy, nil, []string{"198.51.100.1"}, "198.51.100.1"},
		"a spoofed hop on the left":       {proxy, nil, []string{"192.0.2.66, 198.51.100.1"}, "198.51.100.1"},
		"a spoofed trusted hop":           {proxy, nil, []string{"10.9.9.9, 198.51.100.1"}, "198.51.100.1"},
		"two proxies":                     {proxy, nil, []string{"192.0.2.66, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"several lines":                   {proxy, nil, []string{"192.0.2.66", "198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		"all are proxies":                 {proxy, nil, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"a port":                          {proxy, nil, []string{"198.51.100.1:4711"}, "198.51.100.1"},
		"IPv6":                            {proxy, nil, []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 in brackets":                {proxy, nil, []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 in brackets with a port":    {proxy, nil, []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		"IPv6 with a zone":                {proxy, nil, []string{"fe80::1%eth0"}, "fe80::1"},
		"IPv4 as IPv6":                    {proxy, nil, []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"empty elements":                  {proxy, nil, []string{", 198.51.100.1,,"}, "198.51.100.1"},
		"malformed":                       {proxy, nil, []string{"198.51.100.1, 999.1.1.1"}, proxy},
		"malformed behind a proxy":        {proxy, nil, []string{"198.51.100.1, nonsense, 10.0.0.2"}, "10.0.0.2"},
		"malformed on the left":           {proxy, nil, []string{"nonsense, 198.51.100.1"}, "198.51.100.1"},
		"brackets without an end":         {proxy, nil, []string{"[2001:db8::1"}, proxy},
		"an IPv4 address in brackets":     {proxy, nil, []string{"[198.51.100.1]"}, proxy},
		"text after the brackets":         {proxy, nil, []string{"[2001:db8::1]443"}, proxy},
		"an empty port":                   {proxy, nil, []string{"198.51.100.1:"}, proxy},
		"unknown":                         {proxy, []string{"for=198.51.100.1, for=unknown"}, nil, proxy},
		"hidden":                          {proxy, []string{"for=198.51.100.1, for=_hidden"}, nil, proxy},
		"Forwarded":                       {proxy, []string{"for=192.0.2.66, for=198.51.100.1"}, nil, "198.51.100.1"},
		"Forwarded with other parameters": {proxy, []string{`by=_x;For=198.51.100.1 ; proto=https;host="a,b;for=1.1.1.1"`}, nil, "198.51.100.1"},
		"Forwarded IPv6":                  {proxy, []string{`for="[2001:db8::1]:4711"`}, nil, "2001:db8::1"},
		"Forwarded with an odd port":      {proxy, []string{`for="198.51.100.1:_secret"`}, nil, "198.51.100.1"},
		"Forwarded with an escape":        {proxy, []string{`for="198.51.100\.1"`}, nil, "198.51.100.1"},
		"Forwarded without for":           {proxy, []string{"for=198.51.100.1, proto=https"}, nil, proxy},
		"Forwarded with two":              {proxy, []string{"for=198.51.100.1;for=192.0.2.1"}, nil, proxy},
		"Forwarded with an open quote":    {proxy, []string{`for="192.0.2.66, for=198.51.100.1`}, nil, proxy},
		"an open quote in another line":   {proxy, []string{`for="192.0.2.66`, "for=198.51.100.1"}, nil, "198.51.100.1"},
		"a quote that hides a hop":        {proxy, []string{`for="192.0.2.66, for="[2001:db8::1]"`}, nil, proxy},
		"both agree":                      {proxy, []string{"for=198.51.100.1"}, []string{"192.0.2.66, 198.51.100.1"}, "198.51.100.1"},
		"both disagree":                   {proxy, []string{"for=192.0.2.66"}, []string{"198.51.100.1"}, proxy},
		"one is empty":                    {proxy, []string{""}, []string{"198.51.100.1"}, "198.51.100.1"},
		"a trusted IPv6 proxy":            {"fd00::1", nil, []string{"198.51.100.1"}, "198.51.100.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for _, line := range tt.forwarded {
				h.Add("Forwarded", line)
			}
			for _, line := range tt.listed {
				h.Add("X-Forwarded-For", line)
			}
			if got := proxies().Client(netip.MustParseAddr(tt.peer), h).String(); got != tt.want {
				t.Errorf("client = %s, want %s", got, tt.want)
			}
			none := edge.Proxies(nil)
			if got := none.Client(netip.MustParseAddr(tt.peer), h).String(); got != tt.peer {
				t.Errorf("without trusted proxies: client = %s, want %s", got, tt.peer)
			}
		})
	}
}

// FuzzProxies_Client never takes a client for another than itself: what a proxy appends in a line of its own counts.
func FuzzProxies_Client(f *testing.F) {
	f.Add("for=1.1.1.1", "1.1.1.1")
	f.Add(`for="`, "[")
	f.Fuzz(func(t *testing.T, forwarded, listed string) {
		client, h := netip.MustParseAddr("198.51.100.1"), http.Header{}
		h["Forwarded"] = []string{forwarded, "for=198.51.100.1"}
		h["X-Forwarded-For"] = []string{listed, "198.51.100.1"}
		if got := proxies().Client(netip.MustParseAddr("10.0.0.1"), h); got != client {
			t.Errorf("client = %s, want %s", got, client)
		}
	})
}

// TestProxies_Handler hands the client's address on, and tells the operator once of a proxy that is not trusted.
func TestProxies_Handler(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		proxies edge.Proxies
		want    string
		warned  int
	}{
		"trusted":     {proxies(), "198.51.100.1", 0},
		"not trusted": {nil, "127.0.0.1:5000", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			var got string
			h := tt.proxies.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }), slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				r.RemoteAddr = "127.0.0.1:5000"
				r.Header.Set("X-Forwarded-For", "198.51.100.1")
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			if got != tt.want {
				t.Errorf("address = %s, want %s", got, tt.want)
			}
			if n := strings.Count(log.String(), "ORGOPS_TRUSTED_PROXIES"); n != tt.warned {
				t.Errorf("%d warnings, want %d: %s", n, tt.warned, &log)
			}
		})
	}
}
