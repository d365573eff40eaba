package manifest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/manifest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// spaces is a manifest of things, of one space if it is configured. A space is asked for by its name until its id is known.
const spaces = `{"configuration":{"space":{"title":"S","description":"S","optional":true,"pattern":"^[a-z]+$","says":"small letters"}},"learned":{"id":"/space/id"},
	"auth":{"type":"bearer","credential":"key"}}`

// serveSpaces answers with two pages of things, each of which tells an id of the space where a request names one.
func serveSpaces(t *testing.T, ids ...string) *provider {
	t.Helper()
	p := serve(t, `{"request":{"path":"/things","query":{"size":"1"},"either":[{"path":"/spaces/{id}"},{"query":{"name":"{space}","with":"space"}}]},
		"paging":{"type":"cursor","pointer":"/next","parameter":"after"}}`, spaces, func(w http.ResponseWriter, r *http.Request, _ string) {
		more, page := map[string]any{}, 1
		if r.FormValue("after") == "" {
			more["next"], page = "n", 0
		}
		if r.FormValue("with") == "space" {
			more["space"] = map[string]string{"id": ids[page]}
		}
		rows(w, page, 1, more)
	})
	p.secrets = map[string]string{"key": "s3cr3t"}
	return p
}

// TestFetch_learned keeps what an answer tells of a variable, for the rest of the run and for later ones, also full ones and those by a manifest
// that has changed elsewhere. Another configuration begins without it.
func TestFetch_learned(t *testing.T) {
	t.Parallel()
	p := serveSpaces(t, "a/1", "b")
	const named, known = "/things?name=%s&size=1&with=space", "/spaces/a%2F1?size=1"
	steps := []struct {
		config string
		full   bool
		want   []string
	}{
		{`{}`, false, []string{"/things?size=1", "/things?size=1&after=n"}},
		{`{"space":"red"}`, false, []string{fmt.Sprintf(named, "red"), known + "&after=n"}},
		{`{"space":"red"}`, false, []string{known, known + "&after=n"}},
		{`{"space":"red"}`, true, []string{known, known + "&after=n"}},
		{`{"space":"blue"}`, false, []string{fmt.Sprintf(named, "blue"), known + "&after=n"}},
	}
	for n, step := range steps {
		p.config = step.config
		_, err := p.run(step.full)
		errtest.Must(t, err)
		if diff := cmp.Diff(step.want, p.asked); diff != "" {
			t.Errorf("run %d: requests differ (-want +got):\n%s", n, diff)
		}
	}
	if got := p.headers[0].Get("Authorization"); got != "Bearer s3cr3t" {
		t.Errorf("Authorization is %q, want the stored key", got)
	}
	p.text = strings.Replace(p.text, "Things become memories.", "Other words.", 1)
	_, err := p.run(false)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{known, known + "&after=n"}, p.asked); diff != "" {
		t.Errorf("by another manifest, requests differ (-want +got):\n%s", diff)
	}
}

// TestFetch_learned_unfit keeps no value that a request cannot carry, and it keeps the first that it can carry.
func TestFetch_learned_unfit(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", ".", "..", strings.Repeat("x", 257)} {
		p := serveSpaces(t, id, "b")
		p.config = `{"space":"red"}`
		_, err := p.run(true)
		errtest.Must(t, err)
		asked := p.asked
		_, err = p.run(true)
		errtest.Must(t, err)
		want := []string{"/things?name=red&size=1&with=space", "/things?name=red&size=1&with=space&after=n", "/spaces/b?size=1", "/spaces/b?size=1&after=n"}
		if diff := cmp.Diff(want, append(asked, p.asked...)); diff != "" {
			t.Errorf("%.5q: requests differ (-want +got):\n%s", id, diff)
		}
	}
}

// TestFetch_either adds a part to the objects of a body, in which a part may put another value.
func TestFetch_either(t *testing.T) {
	t.Parallel()
	p := serve(t, `{"request":{"method":"POST","path":"/q","body":{"q":"all","v":{"n":2,"f":{}}},"either":[
		{"body":{"q":"both","v":{"f":{"a":"{a}","b":"{b}"}}}},{"body":{"v":{"f":{"b":"{b}"}}}}]}}`,
		`{"configuration":{"a":{"title":"A","description":"A","optional":true},"b":{"title":"B","description":"B","optional":true}}}`,
		func(w http.ResponseWriter, _ *http.Request, _ string) { rows(w, 0, 1, nil) })
	for config, want := range map[string]string{
		`{}`:                `/q{"q":"all","v":{"f":{},"n":2}}`,
		`{"b":"y"}`:         `/q{"q":"all","v":{"f":{"b":"y"},"n":2}}`,
		`{"a":"x"}`:         `/q{"q":"all","v":{"f":{},"n":2}}`,
		`{"a":"x","b":"y"}`: `/q{"q":"both","v":{"f":{"a":"x","b":"y"},"n":2}}`,
	} {
		p.config = config
		_, err := p.run(true)
		errtest.Must(t, err)
		if diff := cmp.Diff([]string{want}, p.asked); diff != "" {
			t.Errorf("%s: requests differ (-want +got):\n%s", config, diff)
		}
	}
}

// TestConnector_Schema_pattern refuses a value in the words of its pattern, and names the stored credential.
func TestConnector_Schema_pattern(t *testing.T) {
	t.Parallel()
	m, err := manifest.Parse([]byte(serveSpaces(t).text))
	errtest.Must(t, err)
	c := manifest.New("pulse", func() *manifest.Manifest { return m }, nil, nil)
	problems, err := web.CheckBody(c.Schema(), json.RawMessage(`{"space":"RED"}`))
	errtest.Must(t, err)
	if got := fmt.Sprint(problems); !strings.Contains(got, "small letters") {
		t.Errorf("problems %s, want the words of the pattern", got)
	}
	if diff := cmp.Diff([]string{"key"}, c.NeededCredentials(nil)); diff != "" {
		t.Errorf("credentials differ (-want +got):\n%s", diff)
	}
}
