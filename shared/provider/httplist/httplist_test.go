package httplist_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/httplist"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

var (
	_ connector.Authenticated = (*httplist.Connector)(nil)
	_ connector.Lister        = (*httplist.Connector)(nil)
	_ connector.Checker       = (*httplist.Connector)(nil)
)

var now = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// fetching fetches from a server of this test.
type fetching struct {
	t       *testing.T
	url     string
	config  map[string]any
	secrets map[string]string
	state   json.RawMessage

	shifting []bool // what run's pages say

	mu    sync.Mutex
	asked []string // paths with queries
}

// serve starts a server whose list is at /items. The default configuration fits rows.
func serve(t *testing.T, answer http.HandlerFunc) *fetching {
	t.Helper()
	f := &fetching{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r.URL.RequestURI())
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	f.config = map[string]any{"url": server.URL + "/items", "itemsPath": "/data", "idPath": "/id", "titlePath": "/t", "target": "memory"}
	return f
}

func (f *fetching) page(checkpoint json.RawMessage, full bool) (connector.FetchedPage, error) {
	return f.pageUntil(f.t.Context(), checkpoint, full)
}

func (f *fetching) pageUntil(ctx context.Context, checkpoint json.RawMessage, full bool) (connector.FetchedPage, error) {
	config, err := json.Marshal(f.config)
	errtest.Must(f.t, err)
	c := httplist.New(outbound.New(outbound.Options{AllowLoopback: true}), func() time.Time { return now })
	return c.Fetch(ctx, connector.Fetch{Config: config, Credentials: f.secrets, Checkpoint: checkpoint, State: f.state, Full: full})
}

// run fetches every page of a run, keeps the state and returns the ids.
func (f *fetching) run(full bool) (ids []string) {
	f.t.Helper()
	for checkpoint := json.RawMessage(nil); ; {
		page, err := f.page(checkpoint, full)
		errtest.Must(f.t, err)
		for _, m := range page.Memories {
			ids = append(ids, m.ExternalID)
		}
		f.shifting = append(f.shifting, page.Shifting)
		if checkpoint = page.Checkpoint; checkpoint == nil {
			f.state = page.State
			return ids
		}
	}
}

// rows writes so many objects from an offset on, and more members of the document.
func rows(w http.ResponseWriter, from, n int, more map[string]any) {
	data := []map[string]any{}
	for i := range n {
		data = append(data, map[string]any{"id": from + i, "t": fmt.Sprint("Title ", from+i)})
	}
	document := map[string]any{"data": data}
	for name, value := range more {
		document[name] = value
	}
	_ = json.NewEncoder(w).Encode(document)
}

func numbers(n int) (ids []string) {
	for i := range n {
		ids = append(ids, strconv.Itoa(i))
	}
	return ids
}

func query(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.URL.Query().Get(name))
	return n
}

func TestConnector_Fetch(t *testing.T) {
	t.Parallel()
	const document = `{"meta":{"a/b":{"":[{"x":1},[
		{"key":{"id":7},"name":"  Ship ","text":"All of it","web":"https://example.com/7","at":"2026-03-01T10:00:00+01:00","done":1,"due":"2026-06-01"},
		{"key":{"id":"8"},"name":"Grow","at":5,"done":0.25,"more":[1,{}]},
		{"name":"nameless"}
	]]}}}`
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, document) })
	for name, value := range map[string]any{
		"itemsPath": "/meta/a~1b//1", "idPath": "/key/id", "titlePath": "/name", "bodyPath": "/text", "linkPath": "/web", "updatedAtPath": "/at",
	} {
		f.config[name] = value
	}
	changed, due := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	got, err := f.page(nil, false)
	errtest.Must(t, err)
	want := connector.FetchedPage{
		Memories: []memory.Draft{
			{ExternalID: "7", Kind: "item", Title: "Ship", Body: "All of it", URL: "https://example.com/7", UpdatedAt: &changed},
			{ExternalID: "8", Kind: "item", Title: "Grow"},
		},
		Skipped:  []connector.Skipped{{Item: "nameless", Reason: "it has no text or number at idPath"}},
		Warnings: []string{`updatedAtPath of "8" is "5", which is no time that can be read, so it is left out; send RFC 3339, such as 2026-03-01T12:00:00Z`},
		State:    json.RawMessage(`{}`), List: "list", Incomplete: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page of memories differs (-want +got):\n%s", diff)
	}
	f.config["target"], f.config["progressPath"], f.config["dueAtPath"] = "goal", "/done", "/due"
	got, err = f.page(nil, false)
	errtest.Must(t, err)
	goals := []goal.Draft{
		{ExternalID: "7", Title: "Ship", Target: "All of it", URL: "https://example.com/7", Progress: 1, DueAt: &due, State: goal.Closed, UpdatedAt: &changed},
		{ExternalID: "8", Title: "Grow", Progress: 0.25, State: goal.Open},
	}
	if diff := cmp.Diff(goals, got.Goals); diff != "" {
		t.Errorf("goals differ (-want +got):\n%s", diff)
	}
}

// A run follows pages by the Link header, by a cursor and by an offset. All but those by a cursor shift, from the second one on.
func TestConnector_Fetch_pages(t *testing.T) {
	t.Parallel()
	const all, size = 25, 10
	tests := []struct {
		name     string
		config   map[string]any
		answer   http.HandlerFunc
		asked    []string
		shifting []bool
	}{
		{"link", nil, func(w http.ResponseWriter, r *http.Request) {
			from := query(r, "from")
			if from+size < all {
				w.Header().Set("Link", fmt.Sprintf(`</items?from=%d>; rel="next"`, from+size))
			}
			rows(w, from, min(size, all-from), nil)
		}, []string{"/items", "/items?from=10", "/items?from=20"}, []bool{false, true, true}},
		{"cursor", map[string]any{"paging": "cursor", "cursorPath": "/page/next", "parameter": "after"}, func(w http.ResponseWriter, r *http.Request) {
			from := query(r, "after")
			more := map[string]any{"page": map[string]any{"next": nil}}
			if from+size < all {
				more["page"] = map[string]any{"next": from + size}
			}
			rows(w, from, min(size, all-from), more)
		}, []string{"/items", "/items?after=10", "/items?after=20"}, []bool{false, false, false}},
		{"offset", map[string]any{"paging": "offset", "parameter": "skip"}, func(w http.ResponseWriter, r *http.Request) {
			from := query(r, "skip")
			rows(w, from, max(0, min(size, all-from)), nil)
		}, []string{"/items", "/items?skip=10", "/items?skip=20", "/items?skip=25"}, []bool{false, true, true, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, tt.answer)
			for name, value := range tt.config {
				f.config[name] = value
			}
			if diff := cmp.Diff(numbers(all), f.run(true)); diff != "" {
				t.Errorf("ids differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.asked, f.asked); diff != "" {
				t.Errorf("requests differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.shifting, f.shifting); diff != "" {
				t.Errorf("shifting pages differ (-want +got):\n%s", diff)
			}
		})
	}
}

// A list with one page is asked for conditionally, except by a full run. A list with several pages always is read.
func TestConnector_Fetch_conditional(t *testing.T) {
	t.Parallel()
	pages := 1
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if from := query(r, "from"); from+1 < pages {
			w.Header().Set("Link", fmt.Sprintf(`</items?from=%d>; rel="next"`, from+1))
		}
		rows(w, query(r, "from"), 1, nil)
	})
	for n, want := range []int{1, 0, 0} {
		if got := len(f.run(false)); got != want {
			t.Errorf("run %d fetched %d items, want %d", n, got, want)
		}
	}
	pages = 2
	for n := range 2 {
		if got := len(f.run(n == 0)); got != 2 {
			t.Errorf("run %d over two pages fetched %d items, want 2", n, got)
		}
	}
}

func TestConnector_Fetch_authentication(t *testing.T) {
	t.Parallel()
	tests := []struct {
		auth    string
		secrets map[string]string
		header  string
		want    string
	}{
		{"bearer", map[string]string{"token": "s3cr3t"}, "Authorization", "Bearer s3cr3t"},
		{"basic", map[string]string{"username": "ada", "password": "s3cr3t"}, "Authorization", "Basic YWRhOnMzY3IzdA=="},
		{"header", map[string]string{"token": "s3cr3t"}, "X-Key", "s3cr3t"},
	}
	for _, tt := range tests {
		f := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get(tt.header); got != tt.want {
				w.WriteHeader(http.StatusUnauthorized)
			}
			rows(w, 0, 1, nil)
		})
		f.config["auth"], f.secrets = tt.auth, tt.secrets
		if tt.auth == "header" {
			f.config["header"] = tt.header
		}
		if diff := cmp.Diff([]string{"0"}, f.run(false)); diff != "" {
			t.Errorf("%s: ids differ (-want +got):\n%s", tt.auth, diff)
		}
		config, err := json.Marshal(f.config)
		errtest.Must(t, err)
		needed := httplist.New(nil, nil).NeededCredentials(config)
		slices.Sort(needed)
		for _, name := range needed {
			f.secrets = map[string]string{name: "wrong"}
			if _, err := f.page(nil, false); !errors.Is(err, connector.ErrRefused) {
				t.Errorf("%s: with a wrong %s: %v, want a refusal", tt.auth, name, err)
			}
		}
		if len(needed) != len(tt.secrets) {
			t.Errorf("%s needs %v, want the names of %d credentials", tt.auth, needed, len(tt.secrets))
		}
	}
}

func TestConnector_Fetch_refusals(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for n := 0; n < len(headers); n += 2 {
				w.Header().Set(headers[n], headers[n+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	const one = `{"data":[{"id":1}],"next":"x"}`
	tests := []struct {
		name   string
		config map[string]any
		answer http.HandlerFunc
		says   string
	}{
		{"not found", nil, http.NotFound, "answers 404"},
		{"down", nil, answer(502, "<html>"), "answers 502"},
		{"down, without a time", nil, answer(503, "<html>"), "answers 503"},
		{"redirect", nil, http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP, "redirects are not followed"},
		{"web page", nil, answer(200, "<html>"), "not JSON"},
		{"cut off behind the list", nil, answer(200, one[:20]), "cut off"},
		{"no list", nil, answer(200, `{"data":{"id":1}}`), "no list at itemsPath"},
		{"another document", nil, answer(200, `[1]`), "no list at itemsPath"},
		{"deep", nil, answer(200, strings.Repeat("[", 1_000_000)), "not JSON"},
		{"too large", nil, answer(200, `{"data":["`+strings.Repeat("x", 8<<20)), "larger than 8 MiB"},
		{"too many", nil, answer(200, `{"data":[`+strings.Repeat("1,", 2000)+`1]}`), "more than 1,000 objects"},
		{"a link to another host", nil, answer(200, one, "Link", `<https://attacker.example/>; rel=next`), "another host"},
		{"a link that is cut off", nil, answer(200, one, "Link", `</items?page=2; rel=next`), "Link header cannot be read"},
		{"a link to itself", nil, answer(200, one, "Link", `</items>; rel=next`), "does not end"},
		{"a long cursor", map[string]any{"paging": "cursor", "cursorPath": "/next", "parameter": "c"},
			answer(200, `{"data":[],"next":"`+strings.Repeat("x", 3000)+`"}`), "longer than"},
		{"an object in the place of the cursor", map[string]any{"paging": "cursor", "cursorPath": "/next", "parameter": "c"},
			answer(200, `{"data":[{"id":1}],"next":{"href":"/items?c=2"}}`), "check cursorPath"},
		{"a cursor that is an address of another host", map[string]any{"paging": "cursor", "cursorPath": "/next", "parameter": "c"},
			answer(200, `{"data":[{"id":1}],"next":"https://attacker.example/items"}`), "another host"},
		{"a link that changes its fragment alone", nil, answer(200, one, "Link", `</items#2>; rel=next`), "does not end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, tt.answer)
			for name, value := range tt.config {
				f.config[name] = value
			}
			_, err := f.page(nil, false)
			var public *fault.Error
			if !errors.As(err, &public) {
				t.Fatalf("err = %v, want a fault", err)
			}
			if !strings.Contains(public.Detail, tt.says) {
				t.Errorf("detail %q, want one with %q", public.Detail, tt.says)
			}
		})
	}
	for _, status := range []int{429, 503} {
		f := serve(t, answer(status, "", "Retry-After", "90"))
		_, err := f.page(nil, false)
		var throttled *connector.ThrottledError
		if !errors.As(err, &throttled) {
			t.Fatalf("%d: err = %v, want a throttle", status, err)
		}
		if got := throttled.Until.Sub(now); got != 90*time.Second {
			t.Errorf("%d: throttled for %v, want 90 s", status, got)
		}
	}
}

// A cursor that repeats itself ends the run.
func TestConnector_Fetch_endless(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request) { rows(w, 0, 1, map[string]any{"next": "same"}) })
	f.config["paging"], f.config["cursorPath"], f.config["parameter"] = "cursor", "/next", "c"
	first, err := f.page(nil, false)
	errtest.Must(t, err)
	_, err = f.page(first.Checkpoint, false)
	if got := errtest.Message(err); !strings.Contains(got, "does not end") {
		t.Errorf("error %q, want one that says that the list does not end", got)
	}
}

func FuzzFetch(f *testing.F) {
	f.Add(`{"data":[{"id":1,"t":"x"}]}`, "/data", "/id")
	f.Add(`[[{"a/b":"1"}]]`, "/0", "/a~1b")
	f.Add(`{"":{"":[]}}`, "//", "/~0")
	f.Fuzz(func(t *testing.T, document, items, id string) {
		config, err := json.Marshal(map[string]any{"url": "https://example.com/" + url.PathEscape(id), "itemsPath": items, "idPath": id, "titlePath": "/t", "target": "memory"})
		errtest.Must(t, err)
		if len(items) > 0 && items[0] != '/' || id == "" || id[0] != '/' {
			return // the schema refuses it
		}
		client := outbound.New(outbound.Options{Transport: canned(document)})
		_, _ = httplist.New(client, time.Now).Fetch(t.Context(), connector.Fetch{Config: config})
	})
}

// canned answers every request with the same document.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	_, _ = recorder.WriteString(string(c))
	return recorder.Result(), nil
}

// A server that does not answer ends with the caller's time.
func TestConnector_Fetch_slow(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	f := serve(t, func(http.ResponseWriter, *http.Request) {
		close(reached)
		<-release
	})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	_, err := f.pageUntil(ctx, nil, true)
	if got, want := errtest.Message(err), "the list cannot be read"; !strings.Contains(got, want) {
		t.Errorf("err = %q, want %q in it", got, want)
	}
}
