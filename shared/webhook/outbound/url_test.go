package outbound_test

import (
	"net/netip"
	"strings"
	"testing"

	"orgops/shared/webhook/outbound"
)

func TestClient_CheckURL(t *testing.T) {
	t.Parallel()
	hosted := outbound.New(outbound.Options{})
	local := outbound.New(outbound.Options{AllowLoopback: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	tests := []struct {
		url    string
		client *outbound.Client
		want   string // part of the problem; empty: no problem
	}{
		{"https://example.com/hooks?x=1", hosted, ""},
		{"https://example.com:8443/", hosted, ""},
		{"https://example.com./", hosted, ""},
		{"https://93.184.215.14/", hosted, ""},
		{"https://[2606:4700::1111]/", hosted, ""},
		{"https://xn--bcher-kva.example/", hosted, ""},
		{"http://example.com/", hosted, "must be https"},
		{"http://example.com/", local, "must be https"},
		{"", hosted, "absolute"},
		{"/hooks", hosted, "absolute"},
		{"//example.com/", hosted, "absolute"},
		{"ftp://example.com/", hosted, "absolute"},
		{"https:example.com", hosted, "absolute"},
		{"https:///path", hosted, "absolute"},
		{"https://exa mple.com", hosted, "domain name"},
		{"http:/example.com", local, "absolute"},
		{"example.com/hooks", hosted, "absolute"},
		{"https://example.com/p?q=a b", hosted, "has a space at byte 26; write %20"},
		{"https://example.com/p ", hosted, "begins or ends with white space; remove it"},
		{" https://example.com/p", hosted, "begins or ends with white space; remove it"},
		{"https://example.com/p\u00a0", hosted, "begins or ends with white space; remove it"},
		{"https://example.com/a b", hosted, "has a space"},
		{"https://example.com/a\tb", hosted, "has a control character at byte 22; remove it"},
		{"https://example.com/a\r\nX-Injected: 1", hosted, "control character"},
		{"https://example.com/?a=\x00", hosted, "control character"},
		{"https://example.com/?a=\x7f", hosted, "control character"},
		{"https://example.com\\@evil.test/", hosted, "domain name"},
		{"https://example.com/a\\b", hosted, "backslash"},
		{"https://example.com/100%", hosted, "without two hexadecimal digits; write %25"},
		{"https://example.com/?a=%zz", hosted, "without two hexadecimal digits; write %25"},
		{"https://example.com/?a=%4", hosted, "without two hexadecimal digits"},
		{"https://example.com/%C3%A9?b=%2F", hosted, ""},
		{"https://example.com/é", hosted, "write its UTF-8 percent-encoded"},
		{"https://example.com/?q=é", hosted, "write its UTF-8 percent-encoded"},
		{"https://example.com/?q=\xff", hosted, "beyond ASCII"},
		{`https://example.com/?q="a"`, hosted, "must not have; write %22"},
		{"https://example.com/?q=<a>", hosted, "must not have; write %3C"},
		{"https://example.com/{id}", hosted, "must not have; write %7B"},
		{"https://example.com/?a=b|c", hosted, "must not have; write %7C"},
		{"https://example.com/?page[size]=100", hosted, ""},
		{"https://example.com/;a=1?b=2;c=3&d='e'", hosted, ""},
		{"https://@example.com/", hosted, "user name"},
		{"https://example.com:99999/", hosted, "port"},
		{"https://example.com:-1/", hosted, "absolute"},
		{"https://ex%61mple.com/", hosted, "absolute"},
		{"https://" + strings.Repeat("a", 64) + ".example/", hosted, "domain name"},
		{"https://me:secret@example.com/", hosted, "user name"},
		{"https://example.com/#top", hosted, "fragment"},
		{"https://example.com/#", hosted, "fragment"},
		{"https://example.com:0/", hosted, "port"},
		{"https://example.com:65536/", hosted, "port"},
		{"https://example.com:/", hosted, "port"},
		{"https://localhost/", hosted, "localhost"},
		{"https://LOCALHOST./", hosted, "localhost"},
		{"https://a.localhost/", hosted, "localhost"},
		{"http://localhost:4000/", local, ""},
		{"http://127.0.0.1:4000/", local, ""},
		{"http://[::1]:4000/", local, ""},
		{"http://10.1.2.3/", local, ""},
		{"http://10.2.2.3/", local, "the host's address is not public"},
		{"https://127.0.0.1/", hosted, "the host's address is not public"},
		{"https://127.0.0.1./", hosted, "the host's address is not public"},
		{"https://10.0.0.5/", hosted, "the host's address is not public"},
		{"https://169.254.169.254/latest/", hosted, "not public"},
		{"https://100.64.0.1/", hosted, "not public"},
		{"https://0.0.0.0/", local, "not public"},
		{"https://224.0.0.1/", hosted, "not public"},
		{"https://[::1]/", hosted, "not public"},
		{"https://[::]/", local, "not public"},
		{"https://[fd00:ec2::254]/", hosted, "not public"},
		{"https://[fe80::1%25eth0]/", hosted, "zone"},
		{"https://[::ffff:10.0.0.5]/", hosted, "not public"},
		{"https://[::ffff:127.0.0.1]/", hosted, "not public"},
		{"https://[64:ff9b::7f00:1]/", hosted, "not public"},
		{"https://[2002:7f00:1::]/", hosted, "not public"},
		{"https://0x7f.1/", hosted, "four decimal numbers"},
		{"https://0177.0.0.1/", hosted, "four decimal numbers"},
		{"https://127.1/", local, "four decimal numbers"},
		{"https://2130706433/", hosted, "four decimal numbers"},
		{"https://0x7f000001/", hosted, "four decimal numbers"},
		{"https://1.2.3.4.5/", hosted, "four decimal numbers"},
		{"https://１２７.0.0.1/", hosted, "ASCII"},
		{"https://bücher.example/", hosted, "ASCII"},
		{"https://exa$mple.com/", hosted, "domain name"},
		{"https://a..b/", hosted, "domain name"},
		{"https://./", hosted, "domain name"},
		{"https://example.com/" + strings.Repeat("a", outbound.MaxURL), hosted, "at most 2048"},
	}
	for _, tt := range tests {
		problems := tt.client.CheckURL("/url", tt.url)
		if tt.want == "" {
			if len(problems) > 0 {
				t.Errorf("%q: %v, want none", tt.url, problems)
			}
			continue
		}
		if len(problems) == 0 {
			t.Errorf("%q: no problem, want one with %q", tt.url, tt.want)
			continue
		}
		if got := problems[0].Pointer; got != "/url" {
			t.Errorf("%q: pointer = %q, want /url", tt.url, got)
		}
		if got := problems[0].Detail; !strings.Contains(got, tt.want) {
			t.Errorf("%q: detail = %q, want one with %q", tt.url, got, tt.want)
		}
		for _, p := range problems {
			if strings.Contains(p.Detail, "secret") {
				t.Errorf("%q: the problem quotes the url: %s", tt.url, p.Detail)
			}
		}
	}
}

func FuzzClient_CheckURL(f *testing.F) {
	for _, seed := range []string{"https://example.com", "http://[::1", "https://127.1", "https://%31", "https://a:b@c:9/#"} {
		f.Add(seed)
	}
	c := outbound.New(outbound.Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		for _, p := range c.CheckURL("/url", raw) {
			if p.Pointer != "/url" {
				t.Errorf("%q: pointer = %q, want /url", raw, p.Pointer)
			}
			if p.Detail == "" {
				t.Errorf("%q: a problem has no detail: %+v", raw, p)
			}
		}
	})
}
