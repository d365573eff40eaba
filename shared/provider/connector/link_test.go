package connector_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

func TestNextLink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		want  string
		ok    bool
	}{
		{"none", nil, "", true},
		{"GitHub's", []string{`<https://api.github.com/x?page=1>; rel="prev", <https://api.github.com/x?page=3>; rel="next"`}, "https://api.github.com/x?page=3", true},
		{"two lines", []string{`</last>; rel=last`, `</2>; REL=Next`}, "/2", true},
		{"several relations", []string{`</2>; title="a, b; rel=\"x\""; rel="start next"`}, "/2", true},
		{"the first rel counts", []string{`</2>; rel=prev; rel=next`}, "", true},
		{"a comma in the target", []string{`</a,b>;rel=next`}, "/a,b", true},
		{"empty elements", []string{` , `, `, </2>; rel=next,`}, "/2", true},
		{"no target", []string{`/2; rel=next`}, "", false},
		{"cut off", []string{`</1>; rel=prev, </2; rel=next`}, "", false},
		{"empty target", []string{`>; rel=next`}, "", false},
		{"a target without characters", []string{`<>; rel=next`}, "", false},
		{"one is broken", []string{`<`, `</2>; rel=next`}, "/2", true},
		{"broken", []string{`<`, `/2; rel=next`, `</2; rel=next`}, "", false},
	}
	for _, tt := range tests {
		got, ok := connector.NextLink(http.Header{"Link": tt.lines})
		if got != tt.want {
			t.Errorf("%s: next = %q, want %q", tt.name, got, tt.want)
		}
		if ok != tt.ok {
			t.Errorf("%s: ok = %t, want %t", tt.name, ok, tt.ok)
		}
	}
}

func TestNextOnHost(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://api.example.com/v1/items?page=1")
	errtest.Must(t, err)
	tests := []struct {
		link, want, err string
	}{
		{"", "", ""},
		{`<?page=2>; rel="next"`, "https://api.example.com/v1/items?page=2", ""},
		{`</other>; rel="next"`, "https://api.example.com/other", ""},
		{`<?page=2#a%2fb>; rel="next"`, "https://api.example.com/v1/items?page=2", ""},
		{`<HTTPS://API.Example.com.:443/x?a=1;b=%2f>; rel="next"`, "https://API.Example.com.:443/x?a=1;b=%2f", ""},
		{`<https://attacker.example/>; rel="next"`, "", "another host"},
		{`<http://api.example.com/>; rel="next"`, "", "another host"},
		{`<https://user@api.example.com/>; rel="next"`, "", "another host"},
		{`<https://api.example.com:8443/>; rel="next"`, "", "another host"},
		{`<%zz>; rel="next"`, "", "is no url"},
		{`</other; rel="next"`, "", "cannot be read"},
		{"<?page=\xff>; rel=next", "", "not in UTF-8"},
		{"<?page=" + strings.Repeat("9", 4096) + ">; rel=next", "", "longer than 4,096 bytes"},
		{"<?page=\x01>; rel=next", "", "is no url"},
	}
	for _, tt := range tests {
		header := http.Header{}
		if tt.link != "" {
			header.Set("Link", tt.link)
		}
		got, err := connector.NextOnHost(base, header)
		if got != tt.want {
			t.Errorf("%q: address = %q, want %q", tt.link, got, tt.want)
		}
		if says := errtest.Message(err); !strings.Contains(says, tt.err) {
			t.Errorf("%q: error %q, want %q in it", tt.link, says, tt.err)
		}
		if refused := err != nil; refused != (tt.err != "") {
			t.Errorf("%q: err = %v, want one: %t", tt.link, err, tt.err != "")
		}
	}
}

func FuzzNextLink(f *testing.F) {
	f.Add(`<a>; rel="next"`)
	f.Add(`<a>; t="\`)
	f.Fuzz(func(_ *testing.T, line string) { connector.NextLink(http.Header{"Link": {line}}) })
}
