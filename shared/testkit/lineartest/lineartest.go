// Package lineartest serves Linear's GraphQL API as Linear documents it, as far as a sync uses it: issues and projects with
// pages, filters, archived and trashed items, rate limits and failures.
package lineartest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is the only key that the server accepts.
const Key = "lin_api_right"

// Item holds an issue or a project as the API shows it. The server reads id, updatedAt, archivedAt and, of an issue, team.
type Item map[string]any

// Server serves the API. It has no limits until Limit sets one.
type Server struct {
	URL string

	mu      sync.Mutex
	created int                   // number of items
	lists   map[string][]numbered // by "issues" and "projects", in the order of creation
	left    int                   // requests until the rate limit, -1: no limit
	renewed time.Time
	failing http.HandlerFunc
	asked   []Query
	teams   map[string]string // the ids of teams that Rename has named, by key
}

// teamOf returns the id of a team. It begins as a text that the first key gives.
func (s *Server) teamOf(key string) string {
	if id, ok := s.teams[key]; ok {
		return id
	}
	return "team-" + key
}

// Rename gives a team another key. Its items have the new one.
func (s *Server) Rename(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.teams[to], s.teams[from] = s.teamOf(from), "none"
	for _, list := range s.lists {
		for _, item := range list {
			if item.Item["team"] == from {
				item.Item["team"] = to
			}
		}
	}
}

// numbered is an item with its place in the order of creation, which is its cursor.
type numbered struct {
	Item
	n int
}

// Query is a request that the server got.
type Query struct {
	List  string
	After string
	Since string
	Team  string
}

// New starts a server.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{lists: map[string][]numbered{}, teams: map[string]string{}, left: -1}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/graphql"
	return s
}

// Put stores an item of a list, "issues" or "projects", in place of the one with the same id.
func (s *Server) Put(list string, item Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.lists[list], func(other numbered) bool { return other.Item["id"] == item["id"] })
	if n < 0 {
		s.created++
		s.lists[list] = append(s.lists[list], numbered{item, s.created})
		return
	}
	s.lists[list][n].Item = item
}

// Delete removes the item with an id, as an emptied trash does.
func (s *Server) Delete(list, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[list] = slices.DeleteFunc(s.lists[list], func(other numbered) bool { return other.Item["id"] == id })
}

// Issue makes an issue of the team ENG that changed at a time.
func Issue(n int, title string, changed time.Time) Item {
	return Item{
		"id": fmt.Sprintf("00000000-0000-4000-8000-%012d", n), "identifier": fmt.Sprintf("ENG-%d", n), "title": title,
		"description": "The description of " + title, "url": fmt.Sprintf("https://linear.app/acme/issue/ENG-%d", n),
		"updatedAt": stamp(changed), "trashed": nil, "team": "ENG",
	}
}

// stamp writes a time as Linear does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Limit leaves so many requests until a time; -1 lifts the limit.
func (s *Server) Limit(left int, renewed time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.renewed = left, renewed
}

// Fail lets f answer every request from now on; nil ends that.
func (s *Server) Fail(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = f
}

// Asked returns the requests since the last call.
func (s *Server) Asked() []Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// variables are those of the connector's queries.
type variables struct {
	First  int    `json:"first"`
	After  string `json:"after"`
	Filter struct {
		UpdatedAt       struct{ Gte string }
		Team            teamFilter
		AccessibleTeams struct{ Some teamFilter }
	} `json:"filter"`
	Team teamFilter `json:"team"`
}

// teamFilter is Linear's TeamFilter.
type teamFilter struct{ ID, Key struct{ Eq string } }

// id returns the id of the team that a filter lets through, "" for all.
func (s *Server) id(f teamFilter) string {
	if f.Key.Eq != "" {
		return s.teamOf(f.Key.Eq)
	}
	return f.ID.Eq
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		s.failing(w, r)
		return
	}
	if r.Header.Get("Authorization") != Key {
		Complain(w, http.StatusUnauthorized, "AUTHENTICATION_ERROR")
		return
	}
	var in struct {
		Query     string
		Variables variables
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		Complain(w, http.StatusBadRequest, "GRAPHQL_PARSE_FAILED")
		return
	}
	if !s.counts(w) {
		return
	}
	list := "issues"
	if strings.Contains(in.Query, "projects(") {
		list = "projects"
	}
	v := in.Variables
	q := Query{List: list, After: v.After, Since: v.Filter.UpdatedAt.Gte, Team: s.id(v.Filter.Team) + s.id(v.Filter.AccessibleTeams.Some)}
	s.asked = append(s.asked, q)
	teams := []Item{}
	if id := s.id(v.Team); strings.Contains(in.Query, "teams(") && id != "none" {
		teams = append(teams, Item{"id": id})
	}
	s.answer(w, q, v.First, strings.Contains(in.Query, "includeArchived: true"), teams)
}

// counts reports whether the rate limit lets a request through.
func (s *Server) counts(w http.ResponseWriter) bool {
	if s.left < 0 {
		return true
	}
	s.left--
	w.Header().Set("X-RateLimit-Requests-Limit", "2500")
	w.Header().Set("X-RateLimit-Requests-Remaining", strconv.Itoa(max(s.left, 0)))
	w.Header().Set("X-RateLimit-Requests-Reset", strconv.FormatInt(s.renewed.UnixMilli(), 10))
	if s.left < 0 {
		s.left = 0
		Complain(w, http.StatusBadRequest, "RATELIMITED")
		return false
	}
	return true
}

// Complain answers with an error of the API.
func Complain(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]any{"message": code, "extensions": map[string]any{"code": code}}}})
}

// answer writes the page behind a cursor.
func (s *Server) answer(w http.ResponseWriter, q Query, size int, archived bool, teams []Item) {
	after, _ := strconv.Atoi(q.After)
	nodes, info := []Item{}, map[string]any{"hasNextPage": false, "endCursor": nil}
	for _, item := range s.lists[q.List] {
		hidden := !archived && item.Item["archivedAt"] != nil
		if item.n <= after || hidden || fmt.Sprint(item.Item["updatedAt"]) < q.Since || q.Team != "" && s.teamOf(fmt.Sprint(item.Item["team"])) != q.Team {
			continue
		}
		if len(nodes) == size {
			info["hasNextPage"] = true
			break
		}
		nodes = append(nodes, item.Item)
		info["endCursor"] = strconv.Itoa(item.n)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{
		q.List: map[string]any{"nodes": nodes, "pageInfo": info}, "teams": map[string]any{"nodes": teams},
	}})
}
