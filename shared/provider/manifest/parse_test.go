package manifest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/provider/manifest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

const valid = `{"kind":"pulse","title":"Pulse","description":"Things.","base":"https://api.example.com","streams":[
	{"name":"things","request":{"path":"/things"},"records":"/data","item":{"target":"memory","id":"/id","title":"/t"}}]}`

// TestParse refuses a manifest by its schema or by its rules, with the place of each problem.
func TestParse(t *testing.T) {
	t.Parallel()
	const stream = `{"name":"s","request":{},"records":"/d","item":{"target":"memory","id":"/id","title":"/t"}`
	streams := func(member string) string { return `{"streams":[` + stream + "," + member + `}]}` }
	tests := map[string]struct {
		more    string
		pointer string
		says    string
	}{
		"an unknown field":              {`{"script":"rm"}`, "/script", "not a known field"},
		"an unknown field in a stream":  {streams(`"code":1`), "/streams/0/code", "not a known field"},
		"no streams":                    {`{"streams":[]}`, "/streams", "1"},
		"another way of paging":         {streams(`"paging":{"type":"magic"}`), "/streams/0/paging/type", "one of"},
		"a cursor without a pointer":    {streams(`"paging":{"type":"cursor","parameter":"c"}`), "/streams/0/paging/pointer", "is needed"},
		"a cursor without a parameter":  {streams(`"paging":{"type":"cursor","pointer":"/c"}`), "/streams/0/paging/parameter", "is missing"},
		"a parameter in no body":        {streams(`"paging":{"type":"page","parameter":"/p","in":"body"}`), "/streams/0/paging/in", "POST"},
		"a name in a body":              {streams(`"request":{"method":"POST"},"paging":{"type":"page","parameter":"p","in":"body"}`), "/streams/0/paging/parameter", "JSON Pointer"},
		"two words of the end":          {streams(`"paging":{"type":"page","parameter":"p","more":"/m","last":"/l"}`), "/streams/0/paging/last", "same"},
		"a body of a GET":               {streams(`"request":{"body":{"a":1}}`), "/streams/0/request/body", "POST"},
		"both item and mapping":         {streams(`"mapping":{"rules":[]}`), "/streams/0", "either"},
		"a note on every run":           {streams(`"item":null,"mapping":{"rules":[{"when":"true","action":"timeline.note","with":{"title":".t"}}]}`), "/streams/0/mapping/rules/0/with/once", "again"},
		"an unknown variable":           {`{"base":"https://api.example.com/{tenant}"}`, "/base", "{tenant}"},
		"an unknown variable in a body": {streams(`"request":{"method":"POST","body":{"a":["{x}"]}}`), "/streams/0/request/body/a/0", "{x}"},
		"an inexact number in a body":   {streams(`"request":{"method":"POST","body":{"a":[9007199254740991,-9007199254740993]}}`), "/streams/0/request/body/a/1", "exact"},
		"an optional part of the path": {`{"configuration":{"p":{"title":"P","description":"P","optional":true}},"base":"https://api.example.com/{p}"}`,
			"/base", "optional"},
		"any text as host":             {`{"configuration":{"h":{"title":"H","description":"H","example":"x"}},"base":"https://{h}/v1"}`, "/base", "form host"},
		"a url in the middle":          {`{"configuration":{"u":{"title":"U","description":"U","form":"url","example":"x"}},"base":"https://a.example/{u}"}`, "/base", "beginning"},
		"no host":                      {`{"base":"api.example.com"}`, "/base", "https://"},
		"a query in the base":          {`{"base":"https://api.example.com?a=1"}`, "/base", "query"},
		"a secret as a header":         {`{"headers":{"Authorization":"Bearer x"}}`, "/headers/Authorization", "set by the service"},
		"the host as a header":         {`{"auth":{"type":"header","name":"Host"}}`, "/auth/name", "set by the service"},
		"a header without a name":      {`{"auth":{"type":"header"}}`, "/auth/name", "is needed"},
		"OAuth":                        {`{"auth":{"type":"oauth2"}}`, "/auth/type", "one of"},
		"an unknown parent":            {streams(`"request":{"path":"/{p}"},"parent":{"stream":"x","pointer":"/id","variable":"p"}`), "/streams/0/parent/stream", "before"},
		"a variable of no use":         {`{"streams":[` + stream + `},{"parent":{"stream":"s","pointer":"/id","variable":"p"},"name":"t",` + stream[len(`{"name":"s",`):] + `}]}`, "/streams/1/parent/variable", "nowhere"},
		"two streams of a name":        {`{"streams":[` + stream + `},` + stream + `}]}`, "/streams/1/name", "another stream"},
		"the schedule":                 {`{"configuration":{"schedule":{"title":"S","description":"S","example":"x"}}}`, "/configuration/schedule", "service uses"},
		"a learned name that is taken": {`{"configuration":{"a":{"title":"S","description":"S","example":"x"}},"learned":{"a":"/a"},` + streams(`"request":{"path":"/{a}"}`)[1:], "/learned/a", "another name"},
		"a learned value of no use":    {`{"learned":{"a":"/a"}}`, "/learned/a", "nowhere"},
		"a learned part of the base":   {`{"learned":{"a":"/a"},"base":"https://api.example.com/{a}",` + streams(`"request":{"query":{"a":"{a}"}}`)[1:], "/base", "optional"},
		"a learned part of every path": {`{"learned":{"a":"/a"},` + streams(`"request":{"path":"/{a}"}`)[1:], "/streams/0/request/path", "optional"},
		"a part without a variable":    {streams(`"request":{"either":[{"query":{"a":"b"}}]}`), "/streams/0/request/either/0", "always"},
		"a part with an unknown one":   {streams(`"request":{"either":[{"query":{"a":"{b}"}}]}`), "/streams/0/request/either/0/query/a", "{b}"},
		"a body of a part of a GET":    {streams(`"request":{"either":[{"body":{"a":"{b}"}}]}`), "/streams/0/request/either/0/body", "POST"},
		"a limit without a reset":      {`{"throttle":{"also":[{"remaining":"X-Left"}]}}`, "/throttle/also/0/reset", "required"},
		"an unreadable pattern":        {`{"configuration":{"a":{"title":"S","description":"S","optional":true,"pattern":"(","says":"x"}}}`, "/configuration/a/pattern", "regular expression"},
		"a pattern without words":      {`{"configuration":{"a":{"title":"S","description":"S","optional":true,"pattern":"^a$"}}}`, "/configuration/a/says", "words"},
		"a pattern of a host":          {`{"configuration":{"a":{"title":"S","description":"S","optional":true,"form":"host","pattern":"^a$","says":"x"}}}`, "/configuration/a/pattern", "form text"},
		"a connection's token by hand": {`{"auth":{"type":"bearer","credential":"accessToken"}}`, "/auth/credential", "connection"},
		"a credential of basic":        {`{"auth":{"type":"basic","credential":"key"}}`, "/auth/credential", "other types"},
		"no example":                   {`{"configuration":{"a":{"title":"S","description":"S"}}}`, "/configuration/a/example", "example"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := json.RawMessage(without(t, valid, tt.more))
			problems, err := web.CheckBody(manifest.Schema(), text)
			errtest.Must(t, err)
			if len(problems) == 0 {
				_, err = manifest.Parse(text)
				var f *fault.Error
				if errors.As(err, &f) {
					problems = f.Problems
				}
			}
			for _, p := range problems {
				if p.Pointer == tt.pointer && strings.Contains(p.Detail, tt.says) {
					return
				}
			}
			t.Errorf("problems %+v, want one at %s with %q", problems, tt.pointer, tt.says)
		})
	}
	problems, err := web.CheckBody(manifest.Schema(), []byte(valid))
	errtest.Must(t, err)
	if diff := cmp.Diff(0, len(problems)); diff != "" {
		t.Errorf("a valid manifest has the problems %+v", problems)
	}
}

// without merges two manifests, as merged does, and drops the members of a stream that are null.
func without(t *testing.T, object, more string) string {
	t.Helper()
	return strings.ReplaceAll(merged(t, object, more), `"item":null,`, "")
}

// TestConnector_CheckConfig checks what a configuration makes of the base, as any other address.
func TestConnector_CheckConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		base, form, value string
		address           string
		problem           string
	}{
		"a host":           {"https://{v}/api", "host", "git.example.com", "https://git.example.com/api", ""},
		"an address":       {"{v}/api", "url", "https://git.example.com/x/", "https://git.example.com/x/api", ""},
		"a part of a path": {"https://api.example.com/{v}", "text", "../../a b", "https://api.example.com/..%2F..%2Fa%20b", ""},
		"a private host":   {"https://{v}/api", "host", "10.0.0.1", "https://10.0.0.1/api", "/v"},
		"a query":          {"{v}/api", "url", "https://git.example.com/?a=1", "https://git.example.com/?a=1/api", "/v"},
		"no https":         {"{v}/api", "url", "http://git.example.com", "http://git.example.com/api", "/v"},
		"localhost":        {"https://{v}/api", "host", "localhost:8080", "https://localhost:8080/api", "/v"},
	}
	for name, tt := range tests {
		m, err := manifest.Parse([]byte(merged(t, valid, `{"base":"`+tt.base+`","configuration":{"v":{"title":"V","description":"V","form":"`+tt.form+`","example":"x"}}}`)))
		errtest.Must(t, err)
		c := manifest.New("pulse", func() *manifest.Manifest { return m }, outbound.New(outbound.Options{}), time.Now)
		config, err := json.Marshal(map[string]string{"v": tt.value})
		errtest.Must(t, err)
		if got := c.Address(config); got != tt.address {
			t.Errorf("%s: address %q, want %q", name, got, tt.address)
		}
		pointer := ""
		for _, p := range c.CheckConfig(config) {
			pointer = p.Pointer
		}
		if pointer != tt.problem {
			t.Errorf("%s: problem at %q, want %q", name, pointer, tt.problem)
		}
		if _, err := web.CheckBody(c.Schema(), config); err != nil {
			t.Errorf("%s: the schema of the configuration: %v", name, err)
		}
		if _, err := web.CheckBody(c.CredentialSchema(), []byte(`{}`)); err != nil {
			t.Errorf("%s: the schema of the credentials: %v", name, err)
		}
	}
}
