// Package githubtest serves GitHub's REST API as GitHub documents it, as far as a sync uses it: one repository with issues,
// pull requests, milestones and releases, lists with pages and Link headers, validators, rate limits and failures.
package githubtest

import (
	"crypto/sha256"
	"encoding/json"
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
)

// Token is the only token that the server accepts.
const Token = "github_pat_right"

// Repository is the only repository. The API is below Base.
const (
	Repository = "octo/app"
	Base       = "/api/v3"
)

// Item holds an issue, a pull request, a milestone or a release as the API shows it.
type Item map[string]any

// Server serves the API. It has no limits until Limit sets one.
type Server struct {
	URL string // with Base

	mu       sync.Mutex
	now      func() time.Time
	lists    map[string][]Item
	left     int // requests until the primary rate limit, -1: no limit
	renewed  time.Time
	expires  string // of the token, as a header says; "": never
	failing  http.HandlerFunc
	app      *App
	before   func(http.ResponseWriter, *http.Request) bool
	requests []string // paths with queries
	counted  int      // answers that the rate limit counts: all but 304
}

// New starts a server, which tells the time by now.
func New(t testing.TB, now func() time.Time) *Server {
	t.Helper()
	s := &Server{now: now, lists: map[string][]Item{}, left: -1}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL + Base
	return s
}

// Put stores an item of a list, "issues", "milestones" or "releases", in place of the one with the same number or tag.
func (s *Server) Put(list string, item Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[list] = append(slices.DeleteFunc(s.lists[list], same(item)), item)
}

// Delete removes the item with the number of item.
func (s *Server) Delete(list string, item Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[list] = slices.DeleteFunc(s.lists[list], same(item))
}

func same(item Item) func(Item) bool {
	return func(other Item) bool {
		return fmt.Sprint(item["number"], item["tag_name"]) == fmt.Sprint(other["number"], other["tag_name"])
	}
}

// Issue makes an issue that changed at a time.
func Issue(number int, title string, changed time.Time) Item {
	return Item{
		"number": number, "title": title, "body": "The body of " + title, "html_url": fmt.Sprintf("https://github.com/%s/issues/%d", Repository, number),
		"state": "open", "updated_at": changed.UTC().Format(time.RFC3339),
	}
}

// Limit leaves so many requests until a time; -1 lifts the limit.
func (s *Server) Limit(left int, renewed time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.renewed = left, renewed
}

// Expire says when the token expires, as GitHub writes it, such as "2026-05-01 08:00:00 UTC".
func (s *Server) Expire(at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expires = at
}

// Fail lets f answer every request from now on; nil ends that.
func (s *Server) Fail(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = f
}

// Before lets f see every request from now on, and answer it in the server's place.
func (s *Server) Before(f func(w http.ResponseWriter, r *http.Request) (answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Requests returns the requests since the last call, and how many of them the rate limit counted.
func (s *Server) Requests() (all []string, counted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, counted = s.requests, s.counted
	s.requests, s.counted = nil, 0
	return all, counted
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, strings.TrimPrefix(r.URL.RequestURI(), Base))
	if s.failing != nil {
		s.failing(w, r)
		return
	}
	if s.before != nil && s.before(w, r) {
		return
	}
	if s.app != nil && s.app.serve(w, r) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token && (s.app == nil || !s.app.accepts(r)) {
		refuse(w, http.StatusUnauthorized, "Bad credentials")
		return
	}
	if s.expires != "" {
		w.Header().Set("GitHub-Authentication-Token-Expiration", s.expires)
	}
	if !s.counts(w) {
		return
	}
	list, ok := strings.CutPrefix(r.URL.Path, Base+"/repos/"+Repository+"/")
	if numbered := Base + "/repositories/1300192/"; strings.HasPrefix(r.URL.Path, numbered) { // where GitHub's links lead
		list, ok = strings.TrimPrefix(r.URL.Path, numbered), true
	}
	if !ok {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	s.list(w, r, list)
}

// counts reports whether the primary rate limit lets a request through.
func (s *Server) counts(w http.ResponseWriter) bool {
	if s.left < 0 {
		return true
	}
	s.left--
	w.Header().Set("X-RateLimit-Limit", "5000")
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(s.left, 0)))
	w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(s.renewed.Unix(), 10))
	if s.left < 0 {
		s.left = 0
		refuse(w, http.StatusForbidden, "API rate limit exceeded for user ID 1.")
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest"})
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, list string) {
	q := r.URL.Query()
	items := slices.Clone(s.lists[list])
	if list == "issues" {
		items = changes(items, q)
	}
	size, page := max(atoi(q.Get("per_page"), 30), 1), max(atoi(q.Get("page"), 1), 1)
	from := min((page-1)*size, len(items))
	until := min(from+size, len(items))
	if until < len(items) {
		q.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s/repositories/1300192/%s?%s>; rel="next", <http://%[1]s/last>; rel="last"`, r.Host, Base, list, q.Encode()))
	}
	body, _ := json.Marshal(append([]Item{}, items[from:until]...))
	sum := sha256.Sum256(body)
	tag := fmt.Sprintf(`W/"%x"`, sum[:16])
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		if s.left >= 0 {
			s.left++
		}
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.counted++
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(body)
}

// changes returns the issues that changed after the query's "since", in the order of their changes.
func changes(items []Item, q url.Values) []Item {
	changed := func(i Item) string { return fmt.Sprint(i["updated_at"]) } // RFC 3339 in UTC sorts as text
	if q.Get("state") != "all" {
		items = slices.DeleteFunc(items, func(i Item) bool { return i["state"] != "open" })
	}
	items = slices.DeleteFunc(items, func(i Item) bool { return changed(i) <= q.Get("since") })
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(changed(a), changed(b)) })
	if q.Get("sort") != "updated" || q.Get("direction") != "asc" {
		slices.Reverse(items)
	}
	return items
}

func atoi(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}
