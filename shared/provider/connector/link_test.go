package connector_test

import (
	"net/http"
	"net/url"
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
	}{
		{"none", nil, ""},
		{"GitHub's", []string{`<https://api.github.com/x?page=1>; rel="prev", <https://api.github.com/x?page=3>; rel="next"`}, "https://api.github.com/x?page=3"},
		{"two lines", []string{`</last>; rel=last`, `</2>; REL=Next`}, "/2"},
		{"several relations", []string{`</2>; title="a, b; rel=\"x\""; rel="start next"`}, "/2"},
		{"the first rel counts", []string{`</2>; rel=prev; rel=next`}, ""},
		{"a comma in the target", []string{`</a,b>;rel=next`}, "/a,b"},
		{"broken", []string{`<`, `/2; rel=next`, `</2; rel=next`}, ""},
	}
	for _, tt := range tests {
		if got := connector.NextLink(http.Header{"Link": tt.lines}); got != tt.want {
			t.Errorf("%s: next = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNextOnHost(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://api.example.com/v1/items?page=1")
	errtest.Must(t, err)
	tests := []struct {
		target, want string
		ok           bool
	}{
		{"", "", true},
		{"?page=2", "https://api.example.com/v1/items?page=2", true},
		{"/other", "https://api.example.com/other", true},
		{"https://attacker.example/", "", false},
		{"http://api.example.com/", "", false},
		{"https://user@api.example.com/", "", false},
		{"https://api.example.com:8443/", "", false},
		{"%zz", "", false},
	}
	for _, tt := range tests {
		header := http.Header{}
		if tt.target != "" {
			header.Set("Link", "<"+tt.target+`>; rel="next"`)
		}
		got, ok := connector.NextOnHost(base, header)
		if got != tt.want {
			t.Errorf("%q: address = %q, want %q", tt.target, got, tt.want)
		}
		if ok != tt.ok {
			t.Errorf("%q: ok = %t, want %t", tt.target, ok, tt.ok)
		}
	}
}

func FuzzNextLink(f *testing.F) {
	f.Add(`<a>; rel="next"`)
	f.Add(`<a>; t="\`)
	f.Fuzz(func(_ *testing.T, line string) { connector.NextLink(http.Header{"Link": {line}}) })
}
