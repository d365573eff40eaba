package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

var (
	_ connector.Authenticated = (*manifest.Connector)(nil)
	_ connector.Lister        = (*manifest.Connector)(nil)
	_ connector.Checker       = (*manifest.Connector)(nil)
)

var now = time.Date(2026, 3, 2, 8, 0, 0, 250e6, time.UTC)

// provider is a server, and the manifest of its list.
type provider struct {
	t       *testing.T
	url     string
	text    string // of the manifest
	config  string
	secrets map[string]string
	state   json.RawMessage
	only    string // the stream to read
	tally   *goal.Tally
	asked   []string // paths with queries, and bodies
	headers []http.Header
	shifted bool          // a page of the last run was shifting
	later   time.Duration // how long after now it is
	pages   []connector.FetchedPage
}

// serve starts a server and describes its list. stream replaces and adds members of the stream, more those of the manifest.
func serve(t *testing.T, stream, more string, answer func(w http.ResponseWriter, r *http.Request, body string)) *provider {
	t.Helper()
	p := &provider{t: t, config: `{}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.asked = append(p.asked, r.URL.RequestURI()+string(body))
		p.headers = append(p.headers, r.Header)
		answer(w, r, string(body))
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	one := merged(t, `{"name":"things","request":{"path":"/things"},"records":"/data","item":{"target":"memory","kind":"thing","id":"/id","title":"/t"}}`, stream)
	p.text = merged(t, fmt.Sprintf(`{"kind":"pulse","title":"Pulse","description":"Things become memories.","base":%q,"streams":[%s]}`, server.URL, one), more)
	return p
}

// merged returns an object with the members of another one. A member that is null is removed.
func merged(t *testing.T, object, more string) string {
	t.Helper()
	all := map[string]any{}
	errtest.Must(t, json.Unmarshal([]byte(object), &all))
	if more != "" {
		errtest.Must(t, json.Unmarshal([]byte(more), &all))
	}
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(all)
	errtest.Must(t, err)
	return string(text)
}

func (p *provider) page(checkpoint json.RawMessage, full bool) (connector.FetchedPage, error) {
	m, err := manifest.Parse([]byte(p.text))
	errtest.Must(p.t, err)
	c := manifest.New(m.Kind, func() *manifest.Manifest { return m }, outbound.New(outbound.Options{AllowLoopback: true}), func() time.Time { return now.Add(p.later) })
	f := connector.Fetch{
		Config: json.RawMessage(p.config), Credentials: p.secrets, Checkpoint: checkpoint, State: p.state, Full: full, Only: p.only, Mapper: new(mapping.Cache),
	}
	if p.tally != nil {
		f.Tallies = []*goal.Tally{p.tally}
	}
	return c.Fetch(p.t.Context(), f)
}

// run fetches every page of a run, keeps the state and returns the ids.
func (p *provider) run(full bool) (ids []string, err error) {
	p.asked, p.headers, p.pages, p.shifted = nil, nil, nil, false
	for checkpoint := json.RawMessage(nil); ; {
		page, err := p.page(checkpoint, full)
		if err != nil {
			return ids, err
		}
		p.pages = append(p.pages, page)
		for _, m := range page.Memories {
			ids = append(ids, m.ExternalID)
		}
		p.shifted = p.shifted || page.Shifting
		if checkpoint = page.Checkpoint; checkpoint == nil {
			p.state = page.State
			return ids, nil
		}
	}
}

// rows writes so many records from a number on, and more members of the document.
func rows(w io.Writer, from, n int, more map[string]any) {
	document := map[string]any{"data": []any{}}
	data := []any{}
	for i := range n {
		data = append(data, map[string]any{"id": from + i, "t": fmt.Sprint("Thing ", from+i)})
	}
	document["data"] = data
	maps.Copy(document, more)
	_ = json.NewEncoder(w).Encode(document)
}

// size returns how many records a page has, by its number: most are full, one is short, and one is empty.
func size(page, from, all int) int { return min([]int{100, 7, 100, 0, 100}[page%5], all-from) }

// TestFetch_paging reads 1,003 records over pages of any size, each once, and 1,000, of which the last page is full.
func TestFetch_paging(t *testing.T) {
	t.Parallel()
	for _, all := range []int{1003, 1000} {
		t.Run(strconv.Itoa(all), func(t *testing.T) {
			t.Parallel()
			testPaging(t, all)
		})
	}
}

func testPaging(t *testing.T, all int) {
	query := func(r *http.Request, name string) int {
		n, _ := strconv.Atoi(r.URL.Query().Get(name))
		return n
	}
	inBody := func(body, name string) int {
		var given map[string]any
		_ = json.Unmarshal([]byte(body), &given)
		n, _ := strconv.Atoi(fmt.Sprint(given[name]))
		return n
	}
	const post = `"request":{"method":"POST","path":"/things","body":{"size":100}}`
	tests := map[string]struct {
		stream string
		answer func(w http.ResponseWriter, r *http.Request, body string)
		shifts bool
	}{
		"none": {`{}`, func(w http.ResponseWriter, _ *http.Request, _ string) { rows(w, 0, 1000, nil) }, false},
		"link": {`{"paging":{"type":"link"}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := query(r, "from")
			n := size(query(r, "n"), from, all)
			if from+n < all {
				w.Header().Set("Link", fmt.Sprintf(`</things?from=%d&n=%d>; rel="next"`, from+n, query(r, "n")+1))
			}
			rows(w, from, n, nil)
		}, true},
		"next": {`{"paging":{"type":"next","pointer":"/links/next"}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := query(r, "from")
			n, links := size(query(r, "n"), from, all), map[string]any{"next": nil}
			if from+n < all {
				links["next"] = fmt.Sprintf("?from=%d&n=%d", from+n, query(r, "n")+1) // relative to the page
			}
			rows(w, from, n, map[string]any{"links": links})
		}, true},
		"cursor": {`{"paging":{"type":"cursor","pointer":"/next","parameter":"after"}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := query(r, "after")
			n, more := min(100, all-from), map[string]any{}
			if from+n < all {
				more["next"] = from + n
			}
			rows(w, from, n, more)
		}, false},
		"cursor that is an address": {`{"paging":{"type":"cursor","pointer":"/next","parameter":"after"}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := query(r, "from")
			n, more := min(100, all-from), map[string]any{}
			if from+n < all {
				more["next"] = fmt.Sprintf("http://%s/things?from=%d", r.Host, from+n)
			}
			rows(w, from, n, more)
		}, true},
		"cursor among variables": {`{"request":{"method":"POST","body":{"query":"q","variables":{"n":100}}},"paging":{"type":"cursor","pointer":"/page/end","parameter":"/variables/after","in":"body","more":"/page/more"}}`,
			func(w http.ResponseWriter, _ *http.Request, body string) {
				var asked struct{ Variables struct{ After string } }
				_ = json.Unmarshal([]byte(body), &asked)
				from, _ := strconv.Atoi(asked.Variables.After)
				n := min(100, all-from)
				rows(w, from, n, map[string]any{"page": map[string]any{"end": fmt.Sprint(from + n), "more": from+n < all}})
			}, false},
		"cursor in the body, with an end": {`{` + post + `,"paging":{"type":"cursor","pointer":"/next","parameter":"/start","in":"body","more":"/more"}}`,
			func(w http.ResponseWriter, _ *http.Request, body string) {
				from := inBody(body, "start")
				n := min(100, all-from)
				rows(w, from, n, map[string]any{"next": fmt.Sprint(from + n), "more": from+n < all})
			}, false},
		"cursor with a last page": {`{"paging":{"type":"cursor","pointer":"/next","parameter":"after","last":"/isLast"}}`,
			func(w http.ResponseWriter, r *http.Request, _ string) {
				from := query(r, "after")
				n := min(100, all-from)
				rows(w, from, n, map[string]any{"next": from + n, "isLast": from+n == all})
			}, false},
		"last id": {`{"paging":{"type":"last-id","pointer":"/id","parameter":"starting_after","more":"/has_more"}}`,
			func(w http.ResponseWriter, r *http.Request, _ string) {
				from := 0
				if r.URL.RawQuery != "" {
					from = query(r, "starting_after") + 1
				}
				n := min(100, all-from)
				rows(w, from, n, map[string]any{"has_more": from+n < all})
			}, false},
		"last id without an end": {`{"paging":{"type":"last-id","pointer":"/id","parameter":"below"}}`,
			func(w http.ResponseWriter, r *http.Request, _ string) {
				from := 0
				if r.URL.RawQuery != "" {
					from = query(r, "below") + 1
				}
				n := min(100, all-from)
				if from == 0 {
					n = 1 // the id 0 is one as any other
				}
				rows(w, from, n, nil)
			}, false},
		"page": {`{"paging":{"type":"page","parameter":"page","first":1}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := (query(r, "page") - 1) * 100
			rows(w, from, max(0, min(100, all-from)), nil)
		}, true},
		"page in the body": {`{` + post + `,"paging":{"type":"page","parameter":"/page","in":"body","first":1}}`, func(w http.ResponseWriter, _ *http.Request, body string) {
			from := (inBody(body, "page") - 1) * 100
			rows(w, from, max(0, min(100, all-from)), nil)
		}, true},
		"page with a last page": {`{"paging":{"type":"page","parameter":"page","last":"/isLast"}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := query(r, "page") * 100
			n := min(100, all-from)
			rows(w, from, n, map[string]any{"isLast": from+n == all})
		}, true},
		"offset": {`{"paging":{"type":"offset","parameter":"skip"}}`, func(w http.ResponseWriter, r *http.Request, _ string) {
			from := query(r, "skip")
			rows(w, from, max(0, min(99, all-from)), nil)
		}, true},
		"offset in the body": {`{` + post + `,"paging":{"type":"offset","parameter":"/skip","in":"body"}}`, func(w http.ResponseWriter, _ *http.Request, body string) {
			from := inBody(body, "skip")
			rows(w, from, max(0, min(99, all-from)), nil)
		}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, tt.stream, "", tt.answer)
			ids, err := p.run(true)
			errtest.Must(t, err)
			count := all
			if name == "none" {
				count = 1000
			}
			want := make([]string, count)
			for n := range want {
				want[n] = strconv.Itoa(n)
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("ids differ (-want +got):\n%s", diff)
			}
			if p.shifted != tt.shifts {
				t.Errorf("shifting %t, want %t", p.shifted, tt.shifts)
			}
		})
	}
}

// TestFetch_endless ends a run whose pages repeat, with at most two requests more than it has pages.
func TestFetch_endless(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"link":    `{"paging":{"type":"link"}}`,
		"next":    `{"paging":{"type":"next","pointer":"/again"}}`,
		"cursor":  `{"paging":{"type":"cursor","pointer":"/next","parameter":"c"}}`,
		"more":    `{"paging":{"type":"cursor","pointer":"/next","parameter":"c","more":"/more"}}`,
		"last id": `{"paging":{"type":"last-id","pointer":"/id","parameter":"after","more":"/more"}}`,
		"page":    `{"paging":{"type":"page","parameter":"page"}}`,
		"offset":  `{"paging":{"type":"offset","parameter":"skip"}}`,
		"body":    `{"request":{"method":"POST"},"paging":{"type":"cursor","pointer":"/next","parameter":"/c","in":"body"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, stream, "", func(w http.ResponseWriter, _ *http.Request, _ string) {
				w.Header().Set("Link", `</things?again>; rel="next"`)
				rows(w, 0, 2, map[string]any{"next": "same", "again": "/things?again", "more": true})
			})
			_, err := p.run(true)
			if !errors.Is(err, connector.ErrEndless) {
				t.Errorf("error %v, want %v", err, connector.ErrEndless)
			}
			if len(p.asked) > 3 {
				t.Errorf("%d requests, want at most 3", len(p.asked))
			}
		})
	}
}

// TestFetch_repeated completes a list whose server repeats the last page, and counts each record once. A list that says that it goes on
// does not end so.
func TestFetch_repeated(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"page":           `{"paging":{"type":"page","parameter":"page"}}`,
		"offset":         `{"paging":{"type":"offset","parameter":"skip"}}`,
		"page that more": `{"paging":{"type":"page","parameter":"page","more":"/more"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			p := serve(t, stream, "", func(w http.ResponseWriter, _ *http.Request, _ string) {
				rows(w, 2*min(asked, 2), 2, map[string]any{"more": true, "page": asked})
				asked++
			})
			ids, err := p.run(true)
			if name == "page that more" {
				if !errors.Is(err, connector.ErrEndless) {
					t.Errorf("error %v, want %v", err, connector.ErrEndless)
				}
				return
			}
			errtest.Must(t, err)
			if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5"}, ids); diff != "" {
				t.Errorf("ids differ (-want +got):\n%s", diff)
			}
			if len(p.asked) != 4 {
				t.Errorf("requests %q, want four", p.asked)
			}
		})
	}
}

// TestFetch_more reads on behind empty pages that say that the list goes on.
func TestFetch_more(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"page":         `{"paging":{"type":"page","parameter":"page","first":1,"more":"/more"}}`,
		"page in body": `{"request":{"method":"POST"},"paging":{"type":"page","parameter":"/page","in":"body","first":1,"last":"/last"}}`,
		"offset":       `{"paging":{"type":"offset","parameter":"skip","more":"/more"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size := []int{2, 0, 2, 0, 0, 1}
			if name == "offset" { // each empty page is asked for once more
				size = []int{2, 0, 2, 0, 1}
			}
			asked, from := 0, 0
			p := serve(t, stream, "", func(w http.ResponseWriter, _ *http.Request, _ string) {
				n := size[asked]
				asked++
				rows(w, from, n, map[string]any{"more": asked < len(size), "last": asked == len(size)})
				from += n
			})
			ids, err := p.run(true)
			errtest.Must(t, err)
			if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, ids); diff != "" {
				t.Errorf("ids differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFetch_unproven fails where a page does not prove that the list has ended, or leads to another origin.
func TestFetch_unproven(t *testing.T) {
	t.Parallel()
	const cursor = `{"paging":{"type":"cursor","pointer":"/next","parameter":"c","more":"/more"}}`
	tests := map[string]struct{ stream, document, says string }{
		"no word of the end":     {cursor, `{"data":[],"next":"x"}`, "does not say at /more"},
		"another word":           {cursor, `{"data":[],"more":"no"}`, "does not say at /more"},
		"a next page, no cursor": {cursor, `{"data":[],"more":true,"next":null}`, "not where it begins"},
		"a next page, no link":   {`{"paging":{"type":"link","more":"/more"}}`, `{"data":[{"id":1,"t":"x"}],"more":true}`, "not where it begins"},
		"a next page, no paging": {`{"paging":{"type":"none","more":"/more"}}`, `{"data":[{"id":1,"t":"x"}],"more":true}`, "not where it begins"},
		"a next page, no next":   {`{"paging":{"type":"next","pointer":"/next","last":"/isLast"}}`, `{"data":[{"id":1,"t":"x"}],"isLast":false}`, "not where it begins"},
		"no id of the last":      {`{"paging":{"type":"last-id","pointer":"/id","parameter":"after"}}`, `{"data":[{"id":1,"t":"x"},{"id":null,"t":"y"}]}`, "the last record has no /id"},
		"an object as cursor":    {cursor, `{"data":[],"more":true,"next":{}}`, "is no text"},
		"another host":           {`{"paging":{"type":"next","pointer":"/next"}}`, `{"data":[],"next":"https://attacker.example/things"}`, "another host"},
		"another scheme":         {`{"paging":{"type":"next","pointer":"/next"}}`, `{"data":[],"next":"https://127.0.0.1/things"}`, "another host"},
		"a private address":      {`{"paging":{"type":"next","pointer":"/next"}}`, `{"data":[],"next":"http://10.0.0.1/things"}`, "another host"},
		"a cursor of another":    {`{"paging":{"type":"cursor","pointer":"/next","parameter":"c"}}`, `{"data":[{"id":1,"t":"x"}],"next":"https://attacker.example/c"}`, "another host"},
		"no list":                {`{}`, `{"data":{}}`, "no list at /data"},
		"an error in a 200":      {`{}`, `{"ok":false,"data":[]}`, `member "ok" reports an error`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, tt.stream, "", func(w http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprint(w, tt.document) })
			_, err := p.run(true)
			if got := errtest.Message(err); !strings.Contains(got, tt.says) {
				t.Errorf("error %q, want one with %q", got, tt.says)
			}
			if len(p.asked) != 1 {
				t.Errorf("requests %q, want one", p.asked)
			}
		})
	}
}

// TestFetch_authentication sends the credentials in the manifest's form, and keeps them out of the checkpoint.
func TestFetch_authentication(t *testing.T) {
	t.Parallel()
	token, pair := map[string]string{"token": "s3cr3t"}, map[string]string{"username": "ada", "password": "s3cr3t"}
	tests := map[string]struct {
		auth    string
		secrets map[string]string
		seen    func(r *http.Request) string
		want    string
	}{
		"none":      {`null`, nil, func(r *http.Request) string { return r.Header.Get("Authorization") }, ""},
		"connected": {`{"type":"basic"}`, map[string]string{integration.AccessToken: "s3cr3t"}, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Bearer s3cr3t"},
		"bearer":    {`{"type":"bearer"}`, token, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Bearer s3cr3t"},
		"basic":     {`{"type":"basic"}`, pair, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Basic YWRhOnMzY3IzdA=="},
		"header":    {`{"type":"header","name":"Authorization","prefix":"Key "}`, token, func(r *http.Request) string { return r.Header.Get("Authorization") }, "Key s3cr3t"},
		"query":     {`{"type":"query","name":"api_key"}`, token, func(r *http.Request) string { return r.URL.Query().Get("api_key") }, "s3cr3t"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, `{"paging":{"type":"link"}}`, `{"auth":`+tt.auth+`}`, func(w http.ResponseWriter, r *http.Request, _ string) {
				if tt.seen(r) != tt.want {
					w.WriteHeader(http.StatusUnauthorized)
				}
				if !strings.Contains(r.URL.RawQuery, "p=2") {
					w.Header().Set("Link", `</things?p=2&api_key=s3cr3t>; rel="next"`) // repeats the token
				}
				rows(w, len(r.URL.Query()["p"]), 1, nil)
			})
			p.secrets = tt.secrets
			ids, err := p.run(true)
			errtest.Must(t, err)
			if diff := cmp.Diff([]string{"0", "1"}, ids); diff != "" {
				t.Errorf("ids differ (-want +got):\n%s", diff)
			}
			if name == "query" && strings.Contains(string(p.pages[0].Checkpoint), "s3cr3t") {
				t.Errorf("the checkpoint %s holds the token", p.pages[0].Checkpoint)
			}
			if tt.secrets == nil {
				return
			}
			for field := range tt.secrets {
				p.secrets = map[string]string{field: "wrong"}
			}
			if _, err := p.page(nil, true); !errors.Is(err, connector.ErrRefused) {
				t.Errorf("with wrong credentials: %v, want a refusal", err)
			}
		})
	}
}

// TestFetch_incremental asks for what has changed since the last run began, in each form. A full run asks for everything.
func TestFetch_incremental(t *testing.T) {
	t.Parallel()
	const post = `"request":{"method":"POST","path":"/things"},`
	tests := map[string]struct{ stream, want string }{
		"rfc3339":          {`{"incremental":{"parameter":"since","form":"rfc3339"}}`, "/things?since=2026-03-02T07%3A55%3A00Z"},
		"date":             {`{"incremental":{"parameter":"since","form":"date","overlap":32400}}`, "/things?since=2026-03-01"},
		"epoch-s":          {`{"incremental":{"parameter":"created[gte]","form":"epoch-s"}}`, "/things?created%5Bgte%5D=1772438100"},
		"epoch-ms":         {`{"incremental":{"parameter":"since","form":"epoch-ms","overlap":1}}`, "/things?since=1772438399250"},
		"epoch-us":         {`{"incremental":{"parameter":"oldest","form":"epoch-us","overlap":1}}`, "/things?oldest=1772438399.250000"},
		"text in a body":   {`{` + post + `"incremental":{"parameter":"/filter/since","in":"body","form":"rfc3339"}}`, `/things{"filter":{"since":"2026-03-02T07:55:00Z"}}`},
		"ms in a body":     {`{` + post + `"incremental":{"parameter":"/since","in":"body","form":"epoch-ms"}}`, `/things{"since":1772438100250}`},
		"µs in a body":     {`{` + post + `"incremental":{"parameter":"/since","in":"body","form":"epoch-us"}}`, `/things{"since":"1772438100.250000"}`},
		"number in a body": {`{` + post + `"incremental":{"parameter":"/since","in":"body","form":"epoch-s"}}`, `/things{"since":1772438100}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, tt.stream, "", func(w http.ResponseWriter, _ *http.Request, _ string) { rows(w, 0, 1, nil) })
			for n, want := range []string{"/things", tt.want, "/things"} {
				_, err := p.run(n == 2)
				errtest.Must(t, err)
				if got := strings.TrimSuffix(p.asked[0], "{}"); got != want {
					t.Errorf("run %d asks for %s, want %s", n, got, want)
				}
			}
		})
	}
}

// TestFetch_incremental_shifting lists the changes of two runs again when the pages of the last one may have shifted, and no more: a
// deletion between its pages hides a change from it.
func TestFetch_incremental_shifting(t *testing.T) {
	t.Parallel()
	changed := 1
	p := serve(t, `{"incremental":{"parameter":"since","form":"epoch-s","overlap":1},"paging":{"type":"link"}}`, "",
		func(w http.ResponseWriter, r *http.Request, _ string) {
			from, _ := strconv.Atoi(r.URL.Query().Get("from"))
			if from+2 < changed {
				w.Header().Set("Link", fmt.Sprintf(`</things?from=%d>; rel="next"`, from+2))
			}
			rows(w, from, min(2, changed-from), nil)
		})
	since := func(minutes int) string {
		return fmt.Sprintf("/things?since=%d", now.Add(time.Duration(minutes)*time.Minute-time.Second).Unix())
	}
	for n, want := range []struct {
		changed int
		asks    string
	}{
		{5, "/things"}, // the whole list: the next full run reads what it has missed
		{1, since(0)},
		{3, since(1)}, // shifts
		{3, since(1)}, // shifts
		{1, since(2)},
		{1, since(4)},
	} {
		changed, p.later = want.changed, time.Duration(n)*time.Minute
		_, err := p.run(n == 0)
		errtest.Must(t, err)
		if p.asked[0] != want.asks {
			t.Errorf("run %d asks for %s, want %s", n, p.asked[0], want.asks)
		}
	}
}

// TestFetch_full finds what is behind a first page that was full, and has not changed since: a server that makes the tag of the body
// answers 304, with or without a link to the next page.
func TestFetch_full(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		size, query int
		link        bool // a 304 has one
	}{
		"a round number":         {100, 0, false},
		"a number that is asked": {7, 7, false},
		"a link":                 {7, 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := tt.size
			p := serve(t, fmt.Sprintf(`{"paging":{"type":"link"},"request":{"path":"/things","query":{"n":"%d"}}}`, tt.query), "", func(w http.ResponseWriter, r *http.Request, _ string) {
				from, _ := strconv.Atoi(r.URL.Query().Get("from"))
				until := min(held, from+tt.size)
				tag := fmt.Sprintf(`"%d-%d"`, from, until)
				unchanged := r.Header.Get("If-None-Match") == tag
				w.Header().Set("ETag", tag)
				if until < held && (tt.link || !unchanged) {
					w.Header().Set("Link", fmt.Sprintf(`</things?from=%d>; rel="next"`, until))
				}
				if unchanged {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				rows(w, from, until-from, nil)
			})
			_, err := p.run(true)
			errtest.Must(t, err)
			held++
			ids, err := p.run(false)
			errtest.Must(t, err)
			if last := strconv.Itoa(tt.size); !slices.Contains(ids, last) {
				t.Errorf("the run has %q, want %s among them", ids, last)
			}
		})
	}
}

// TestFetch_throttled waits as long as the provider asks, never less.
func TestFetch_throttled(t *testing.T) {
	t.Parallel()
	const limits = `{"throttle":{"statuses":[403],"remaining":"X-Left","reset":"X-Reset","also":[{"remaining":"X-Cost-Left","reset":"X-Cost-Reset"}],"form":%q,"wait":40},
		"errors":[{"pointer":"/error","values":["ratelimited"],"means":"throttled"}]}`
	tests := map[string]struct {
		form, document string
		status         int
		headers        [][2]string
		want           time.Duration
	}{
		"seconds":                       {"epoch-s", ``, 429, [][2]string{{"Retry-After", "90"}}, 90 * time.Second},
		"date":                          {"epoch-s", ``, 503, [][2]string{{"Retry-After", now.Truncate(time.Second).Add(91 * time.Second).Format(http.TimeFormat)}}, 91*time.Second - 250*time.Millisecond},
		"reset, epoch":                  {"epoch-s", ``, 429, [][2]string{{"X-Reset", fmt.Sprint(now.Unix() + 60)}}, 60*time.Second - 250*time.Millisecond},
		"reset, ms":                     {"epoch-ms", ``, 429, [][2]string{{"X-Reset", fmt.Sprint(now.UnixMilli() + 5000)}}, 5 * time.Second},
		"reset, ISO":                    {"rfc3339", ``, 429, [][2]string{{"X-Reset", now.Truncate(time.Second).Add(time.Minute).Format(time.RFC3339)}}, time.Minute - 250*time.Millisecond},
		"reset, a wait":                 {"seconds", ``, 429, [][2]string{{"X-Reset", "7.5"}}, 7500 * time.Millisecond},
		"no request left":               {"epoch-s", ``, 403, [][2]string{{"X-Left", "0"}, {"X-Reset", fmt.Sprint(now.Unix() + 60)}}, 60*time.Second - 250*time.Millisecond},
		"bare":                          {"epoch-s", ``, 429, nil, 40 * time.Second},
		"a body, 200":                   {"epoch-s", `{"ok":false,"error":"ratelimited"}`, 200, nil, 40 * time.Second},
		"a body, 400":                   {"epoch-s", `{"error":"ratelimited"}`, 400, [][2]string{{"Retry-After", "3"}}, 3 * time.Second},
		"a cut-off body":                {"epoch-s", `{"e`, 429, [][2]string{{"Retry-After", "9"}, {"Content-Length", "100"}}, 9 * time.Second},
		"a reset, though some are left": {"epoch-s", ``, 429, [][2]string{{"X-Left", "3"}, {"X-Reset", fmt.Sprint(now.Unix() + 60)}}, 40 * time.Second},
		"the later of two":              {"seconds", ``, 403, [][2]string{{"X-Left", "0"}, {"X-Reset", "60"}, {"X-Cost-Left", "0"}, {"X-Cost-Reset", "90"}}, 90 * time.Second},
		"the other of two":              {"seconds", ``, 403, [][2]string{{"X-Left", "9"}, {"X-Reset", "90"}, {"X-Cost-Left", "0"}, {"X-Cost-Reset", "60"}}, time.Minute},
		"a reset in the past":           {"epoch-s", ``, 429, [][2]string{{"X-Reset", "12"}}, 40 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, `{}`, fmt.Sprintf(limits, tt.form), func(w http.ResponseWriter, _ *http.Request, _ string) {
				for _, h := range tt.headers {
					w.Header().Set(h[0], h[1])
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.document)
			})
			_, err := p.run(true)
			var throttled *connector.ThrottledError
			if !errors.As(err, &throttled) {
				t.Fatalf("error %v, want a throttle", err)
			}
			if got := throttled.Until.Sub(now); got != tt.want {
				t.Errorf("throttled for %v, want %v", got, tt.want)
			}
		})
	}
	p := serve(t, `{}`, fmt.Sprintf(limits, "seconds"), func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("X-Left", "0")
		w.Header().Set("X-Reset", "30")
		rows(w, 0, 1, nil)
	})
	_, err := p.run(true)
	errtest.Must(t, err)
	if got := p.pages[0].NotBefore.Sub(now); got != 30*time.Second {
		t.Errorf("after the last request that is left, the next page waits %v, want 30 s", got)
	}
}

// TestFetch_errors completes no run over an answer that is an error, and tells a refusal from a failure.
func TestFetch_errors(t *testing.T) {
	t.Parallel()
	const complaints = `{"errors":[{"pointer":"/error","values":["invalid_auth"],"means":"refused","detail":"store another token"},
		{"pointer":"/error/code","values":["42"],"means":"failed"},{"pointer":"/faults","means":"failed","detail":"ask for less"}]}`
	tests := map[string]struct {
		status   int
		document string
		is       error
		says     string
	}{
		"401":              {401, ``, connector.ErrRefused, "check the credentials"},
		"403":              {403, `{"data":[]}`, connector.ErrRefused, "check the credentials"},
		"404":              {404, `{"data":[]}`, connector.ErrNotListed, "answers 404"},
		"500":              {500, ``, nil, "answers 500"},
		"302":              {302, ``, connector.ErrNotListed, "answers 302"},
		"400":              {400, `{"error":{"code":42}}`, connector.ErrNotListed, `reports "42"`},
		"410":              {410, `{"data":[]}`, connector.ErrNotListed, "answers 410"},
		"204":              {204, ``, connector.ErrNotListed, "answers 204"},
		"refused in a 200": {200, `{"data":[],"error":"invalid_auth"}`, connector.ErrRefused, "store another token"},
		"failed in a 200":  {200, `{"data":[],"error":{"code":42}}`, connector.ErrNotListed, `reports "42"`},
		"any value":        {200, `{"data":[],"faults":[{"a":1}]}`, connector.ErrNotListed, "ask for less"},
		"any text":         {200, `{"data":[],"faults":"x"}`, connector.ErrNotListed, "ask for less"},
		"any value, 401":   {401, `{"faults":["x"]}`, connector.ErrRefused, "check the credentials"},
		"any value, 400":   {400, `{"faults":["x"]}`, connector.ErrNotListed, "ask for less"},
		"success is false": {200, `{"data":[],"success":false}`, connector.ErrNotListed, `member "success" reports an error`},
		"errors":           {200, `{"data":[],"errors":[{"message":"x"}]}`, connector.ErrNotListed, `member "errors" reports an error`},
		"a status":         {200, `{"data":[],"status":500}`, connector.ErrNotListed, `member "status" reports an error`},
		"not JSON":         {200, `<html>`, connector.ErrNotListed, "not JSON"},
		"cut off":          {200, `{"data":[{"id":1`, connector.ErrNotListed, "cut off"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, `{}`, complaints, func(w http.ResponseWriter, _ *http.Request, _ string) {
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.document)
			})
			page, err := p.page(nil, true)
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v, want %v", err, tt.is)
			}
			if got := errtest.Message(err); !strings.Contains(got, tt.says) {
				t.Errorf("error %q, want one with %q", got, tt.says)
			}
			if page.State != nil {
				t.Errorf("state %s, want none: the run would be complete", page.State)
			}
		})
	}
}

// TestFetch_stale reads the list again, once, when its cursor has expired.
func TestFetch_stale(t *testing.T) {
	t.Parallel()
	broken := 1
	p := serve(t, `{"paging":{"type":"cursor","pointer":"/next","parameter":"c","stale":[400]}}`, "", func(w http.ResponseWriter, r *http.Request, _ string) {
		switch {
		case r.URL.RawQuery == "":
			rows(w, 0, 1, map[string]any{"next": "x"})
		case broken > 0:
			broken--
			w.WriteHeader(http.StatusBadRequest)
		default:
			rows(w, 1, 1, nil)
		}
	})
	ids, err := p.run(true)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"0", "0", "1"}, ids); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
	broken = 9
	if _, err = p.run(true); !errors.Is(err, connector.ErrNotListed) {
		t.Errorf("with a cursor that always expires: %v, want %v", err, connector.ErrNotListed)
	}
	if len(p.asked) != 4 {
		t.Errorf("requests %q, want four", p.asked)
	}
}

// TestFetch_optional keeps a record with a field that cannot be read, and warns once. The run knows which item it shows, also if the item
// is left out then. What cannot be identified makes the page incomplete.
func TestFetch_optional(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		record     string
		title      string // of the memory
		warns      string
		incomplete bool
	}{
		"a time":     {`{"id":"1","t":"x","at":"n/a"}`, "x", `updatedAt of "1" must be a time`, false},
		"the year 0": {`{"id":"1","t":"x","at":0}`, "x", `updatedAt of "1" must be a time`, false},
		"a body":     {`{"id":"1","t":"x","b":{"html":"y"}}`, "x", `body of "1" must be a string`, false},
		"a title":    {`{"id":"1","t":{}}`, "", `title of "1" must be a string`, false},
		"an id":      {`{"id":{},"t":"x"}`, "", "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, `{"item":null,"mapping":{"rules":[{"when":"true","action":"memory.upsert",
				"with":{"externalId":".item.id","title":".item.t","body":".item.b","updatedAt":".item.at","kind":"\"thing\""}}]}}`, "",
				func(w http.ResponseWriter, _ *http.Request, _ string) {
					fmt.Fprintf(w, `{"data":[%s,%[1]s]}`, tt.record)
				})
			page, err := p.page(nil, true)
			errtest.Must(t, err)
			if page.Incomplete != tt.incomplete {
				t.Errorf("incomplete = %t, want %t: %+v", page.Incomplete, tt.incomplete, page.Skipped)
			}
			var titles []string
			for _, m := range page.Memories {
				titles = append(titles, m.Title)
			}
			want := []string{tt.title, tt.title}
			if tt.incomplete {
				want = nil
			}
			if diff := cmp.Diff(want, titles); diff != "" {
				t.Errorf("titles differ (-want +got):\n%s", diff)
			}
			if got := strings.Join(page.Warnings, "\n"); strings.Count(got, "\n") > 0 {
				t.Errorf("warnings %q, want one at most", got)
			} else if !strings.HasPrefix(got, tt.warns) {
				t.Errorf("warning %q, want one that begins with %q", got, tt.warns)
			}
		})
	}
}

// TestFetch_records leaves out what is gone and what no rule wants, counts raw records for the end, and keeps exact numbers.
func TestFetch_records(t *testing.T) {
	t.Parallel()
	p := serve(t, `{"item":null,"deleted":{"pointer":"/trashed"},"paging":{"type":"offset","parameter":"skip"},"mapping":{"rules":[
		{"when":".item.kind == \"note\"","action":"timeline.note","with":{"title":".item.t","once":".item.id | tostring"}},
		{"when":".item.kind == \"okr\"","action":"goal.update","with":{"externalId":".item.id | tostring","title":".item.t","state":"\"open\"","progress":".item.done"}},
		{"when":".item.kind != \"noise\"","action":"memory.upsert","with":{"externalId":".item.id | tostring","title":".item.t","kind":".config.kind"}}]}}`,
		`{"configuration":{"kind":{"title":"Kind","description":"Kind","example":"x"}},"lists":{"kinds":["thing"],"goals":true}}`,
		func(w http.ResponseWriter, r *http.Request, _ string) {
			pages := map[string]string{
				"":  `[{"id":1,"t":"gone","trashed":true},{"id":2,"t":"noise","kind":"noise"}]`,
				"2": `[{"id":12345678901234567890,"t":"big"},{"id":3,"t":"said","kind":"note"},{"id":4,"t":"grow","kind":"okr","done":0.5}]`,
				"5": `[{"id":5,"t":{"no":"text"}},{"t":"nameless"},{"id":6,"t":"\ud800"}]`,
			}
			if list := pages[r.URL.Query().Get("skip")]; list != "" {
				fmt.Fprintf(w, `{"data":%s}`, list)
				return
			}
			fmt.Fprint(w, `{"data":[]}`)
		})
	p.config = `{"kind":"thing"}`
	ids, err := p.run(true)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"12345678901234567890", "5"}, ids); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/things", "/things?skip=2", "/things?skip=5", "/things?skip=8"}, p.asked); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	type counts struct {
		gone, notes, goals, skipped int
		incomplete                  bool
	}
	for n, want := range []counts{{gone: 1}, {notes: 1, goals: 1}, {skipped: 2, incomplete: true}} {
		page := p.pages[n]
		if got := (counts{len(page.Gone), len(page.Notes), len(page.Goals), len(page.Skipped), page.Incomplete}); got != want {
			t.Errorf("page %d has %+v, want %+v", n, got, want)
		}
	}
}

// TestFetch_deleted recognizes what is gone by any value, or by those that the manifest names, also in a run that asks for changes alone.
func TestFetch_deleted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		deleted string
		gone    []string
	}{
		"any value":    {`{"pointer":"/state"}`, []string{"1", "2", "3"}},
		"named values": {`{"pointer":"/state","values":["archived","7"]}`, []string{"2", "3"}},
		"an empty one": {`{"pointer":"/state","values":[""]}`, []string{"4"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, `{"deleted":`+tt.deleted+`,"incremental":{"parameter":"since","form":"date"}}`, "", func(w http.ResponseWriter, _ *http.Request, _ string) {
				fmt.Fprint(w, `{"data":[{"id":1,"t":"x","state":"open"},{"id":2,"t":"x","state":"archived"},{"id":3,"t":"x","state":7},{"id":4,"t":"x","state":""},{"id":5,"t":"x"}]}`)
			})
			for range 2 {
				kept, err := p.run(false)
				errtest.Must(t, err)
				var gone []string
				for _, one := range p.pages[0].Gone {
					gone = append(gone, one.Memory.ExternalID)
				}
				if diff := cmp.Diff(tt.gone, gone); diff != "" {
					t.Errorf("gone differ (-want +got):\n%s", diff)
				}
				if got := len(kept) + len(gone); got != 5 {
					t.Errorf("%d records are kept or gone, want 5: kept %q", got, kept)
				}
			}
		})
	}
}

// TestFetch_streams reads the streams in order, and asks for a list of one page conditionally.
func TestFetch_streams(t *testing.T) {
	t.Parallel()
	p := serve(t, `{}`, `{"headers":{"X-Version":"7"},"streams":[
		{"name":"a","request":{"path":"/a","query":{"who":"{who}","size":"9"}},"records":"","item":{"target":"memory","id":"/id","title":"/t"}},
		{"name":"b","request":{"path":"/{team}/b"},"records":"/one","one":true,"item":{"target":"goal","id":"/id","title":"/t"}}],
		"configuration":{"team":{"title":"T","description":"T","example":"x"},"who":{"title":"W","description":"W","optional":true}}}`,
		func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("ETag", `"v1"`)
			switch {
			case r.Header.Get("If-None-Match") != "":
				w.WriteHeader(http.StatusNotModified)
			case r.URL.Path == "/a":
				fmt.Fprint(w, `[{"id":1,"t":"x"}]`)
			default:
				fmt.Fprint(w, `{"one":{"id":2,"t":"y"}}`)
			}
		})
	p.config = `{"team":"red/blue"}`
	for n, want := range []int{2, 0, 2} {
		_, err := p.run(n == 2)
		errtest.Must(t, err)
		got := 0
		for stream, page := range p.pages {
			if want := []string{"a", "b"}[stream]; n != 1 && page.List != want {
				t.Errorf("run %d: page %d is of the list %q, want %q", n, stream, page.List, want)
			}
			got += len(page.Memories) + len(page.Goals)
		}
		if got != want {
			t.Errorf("run %d has %d items, want %d", n, got, want)
		}
		if diff := cmp.Diff([]string{"/a?size=9", "/red%2Fblue/b"}, p.asked); diff != "" {
			t.Errorf("run %d: requests differ (-want +got):\n%s", n, diff)
		}
	}
	if got := p.headers[0].Get("X-Version"); got != "7" {
		t.Errorf("X-Version is %q, want 7", got)
	}
	before := p.pages[0].Checkpoint
	p.text = strings.Replace(p.text, `"size":"9"`, `"size":"8"`, 1)
	again, err := p.page(before, true)
	errtest.Must(t, err)
	if again.List != "a" {
		t.Errorf("a checkpoint of another manifest leads to the list %q, want the first one again", again.List)
	}
	p.only = "b"
	_, err = p.run(true)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"/red%2Fblue/b"}, p.asked); diff != "" {
		t.Errorf("of b alone: requests differ (-want +got):\n%s", diff)
	}
	p.only = ""
	_, err = p.run(false)
	errtest.Must(t, err)
	if got := p.headers[0].Get("If-None-Match"); got != "" {
		t.Errorf("with the state of another manifest, the list is asked for with the tag %s, want none", got)
	}
}
