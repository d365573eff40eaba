package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Limits of one fetch.
const (
	timeout     = 30 * time.Second
	maxAnswer   = 16 << 20
	maxWait     = 24 * time.Hour
	defaultWait = time.Minute // when Linear throttles without a time
)

// The queries of a page. Linear hides archived items unless it is asked for them.
const (
	issueQuery = `query($first: Int!, $after: String, $filter: IssueFilter%s) {%s
  issues(first: $first, after: $after, filter: $filter, includeArchived: true) {
    nodes { id identifier title description url updatedAt trashed }
    pageInfo { hasNextPage endCursor }
  }
}`
	projectQuery = `query($first: Int!, $after: String, $filter: ProjectFilter%s) {%s
  projects(first: $first, after: $after, filter: $filter, includeArchived: true) {
    nodes { id name description url progress startDate targetDate completedAt canceledAt updatedAt trashed }
    pageInfo { hasNextPage endCursor }
  }
}`
)

// The parts of a query that ask for the team of a key.
const (
	teamVariable = ", $team: TeamFilter"
	teamList     = "\n  teams(first: 1, filter: $team) { nodes { id } }"
)

// pageInfo says where the next page begins. An answer that does not say whether there is one proves no end of the list.
type pageInfo struct {
	HasNextPage *bool           `json:"hasNextPage"`
	EndCursor   json.RawMessage `json:"endCursor"`
}

// next returns the cursor of the next page, or "" on the last one.
func (i pageInfo) next() (cursor string, err error) {
	if !*i.HasNextPage {
		return "", nil
	}
	if json.Unmarshal(i.EndCursor, &cursor) != nil || cursor == "" {
		return "", fault.New(fault.Unavailable, "Linear says that there is a next page, but not where it begins")
	}
	return cursor, connector.CheckCursor(i.EndCursor, cursor)
}

// answer holds the list that a query asked for. The other one is nil.
type answer struct {
	Issues   *nodes[connector.Item[issue]]   `json:"issues"`
	Projects *nodes[connector.Item[project]] `json:"projects"`
	Teams    *nodes[connector.Item[team]]    `json:"teams"` // the team with the configured key, if the query asks for it
}

type team struct {
	ID string `json:"id"`
}

// maxTeam limits the id of a team, in bytes. Linear gives UUIDs.
const maxTeam = 64

// team returns the id of the team that a query asked for, "" if the answer tells none that the next request could carry.
func (got answer) team() string {
	for _, t := range got.Teams.items() {
		if t.Refused == "" && len(t.Value.ID) <= maxTeam {
			return t.Value.ID
		}
	}
	return ""
}

// nodes holds a page of a list. A part that the answer lacks is nil.
type nodes[T any] struct {
	Nodes    []T       `json:"nodes"`
	PageInfo *pageInfo `json:"pageInfo"`
}

// items returns the items of a page, or none without a list.
func (n *nodes[T]) items() []T {
	if n == nil {
		return nil
	}
	return n.Nodes
}

// info returns what a page of a list says about the next one, or nil if the answer lacks the list or a part of it. Such an
// answer is no empty page: a full run would remove the rest.
func (got answer) info(l list) *pageInfo {
	var info *pageInfo
	switch {
	case l == issues && got.Issues != nil && got.Issues.Nodes != nil:
		info = got.Issues.PageInfo
	case l == projects && got.Projects != nil && got.Projects.Nodes != nil:
		info = got.Projects.PageInfo
	}
	if info == nil || info.HasNextPage == nil {
		return nil
	}
	return info
}

// request returns the body of the request for a page.
func request(config Config, at checkpoint) ([]byte, error) {
	filter := map[string]any{}
	if !at.Since.IsZero() {
		filter["updatedAt"] = map[string]any{"gte": at.Since.UTC().Format(time.RFC3339Nano)}
	}
	query, variables := issueQuery, map[string]any{"first": perPage, "filter": filter}
	if at.List == projects {
		query = projectQuery
	}
	if config.Team == "" {
		query = fmt.Sprintf(query, "", "")
	} else {
		query = at.ofTeam(config.Team, query, filter, variables)
	}
	if at.After != "" {
		variables["after"] = at.After
	}
	return json.Marshal(map[string]any{"query": query, "variables": variables})
}

// ofTeam limits a query to the configured team. It goes by the team's id, which a new key does not change. Until a run knows the id, it
// goes by the key and asks for the id.
func (at checkpoint) ofTeam(key, query string, filter, variables map[string]any) string {
	wanted := map[string]any{"id": map[string]any{"eq": at.Team}}
	if at.Team == "" {
		wanted = map[string]any{"key": map[string]any{"eq": key}}
		variables["team"], query = wanted, fmt.Sprintf(query, teamVariable, teamList)
	} else {
		query = fmt.Sprintf(query, "", "")
	}
	if at.List == projects {
		filter["accessibleTeams"] = map[string]any{"some": wanted}
	} else {
		filter["team"] = wanted
	}
	return query
}

// ask gets a page. renewed is when Linear answers again, if this request was the last that its limits allow.
func (c *Connector) ask(ctx context.Context, config Config, key string, at checkpoint) (got answer, renewed time.Time, err error) {
	body, err := request(config, at)
	if err != nil {
		return got, renewed, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.api, bytes.NewReader(body))
	if err != nil {
		return got, renewed, err
	}
	req.Header.Set("User-Agent", "orgops-linear")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", key)
	resp, err := c.client.Document(req, maxAnswer)
	if err != nil {
		return got, renewed, unreachable(err)
	}
	defer resp.Body.Close()
	text, err := outbound.ReadBody(resp, maxAnswer)
	switch {
	case errors.Is(err, outbound.ErrTooLarge):
		return got, renewed, fault.New(fault.Unavailable, "Linear's answer is larger than 16 MiB")
	case err != nil:
		return got, renewed, unreachable(err)
	}
	var document struct {
		Data   *answer         `json:"data"`
		Errors json.RawMessage `json:"errors"`
	}
	text = connector.Page(text)
	unreadable := json.Unmarshal(text, &document)
	if err := c.check(resp, complaintsOf(document.Errors)); err != nil {
		return got, renewed, err
	}
	var typed *json.UnmarshalTypeError // of a member that is left out
	if unreadable != nil && !errors.As(unreadable, &typed) || document.Data == nil || document.Data.info(at.List) == nil {
		return got, renewed, connector.NotListed("Linear", resp, text, map[string]string{keyField: strings.TrimPrefix(key, bearer)},
			"that is not the list that Linear documents, or it was cut off; check the key and the proxies between here and Linear")
	}
	return *document.Data, c.renewal(resp.Header), nil
}

// complaints are the errors of a GraphQL answer.
type complaints []struct {
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// complaintsOf reads the errors of an answer. Errors in another form than Linear documents are errors too.
func complaintsOf(errs json.RawMessage) (all complaints) {
	switch string(errs) {
	case "", "null", "[]":
		return nil
	}
	if json.Unmarshal(errs, &all) != nil || len(all) == 0 {
		return make(complaints, 1)
	}
	return all
}

// check returns nil for an answer without errors. Linear says by a code in the body what it refuses: a rate limit is a 400.
func (c *Connector) check(resp *http.Response, errs complaints) error {
	code := ""
	if len(errs) > 0 {
		code = errs[0].Extensions.Code
	}
	switch s := resp.StatusCode; {
	case code == "RATELIMITED", connector.Throttled(resp, c.now()) != nil:
		return &connector.ThrottledError{Until: c.until(resp.Header), Failing: connector.IsFailing(resp)}
	case code == "AUTHENTICATION_ERROR", code == "FORBIDDEN", s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fault.Wrap(fault.Unavailable, "Linear refuses the key; store a valid one that may read", connector.ErrRefused)
	case s != http.StatusOK:
		return connector.Status("Linear", resp, false)
	case len(errs) > 0:
		return fault.Wrap(fault.Unavailable, "Linear could not answer the query; if that lasts, check the team", connector.ErrNotListed)
	}
	return nil
}

// until returns when a throttled request may be repeated.
func (c *Connector) until(header http.Header) time.Time {
	if header.Get("Retry-After") != "" {
		return c.now().Add(outbound.RetryAfter(header, c.now(), defaultWait, maxWait))
	}
	if renewed := c.renewal(header); !renewed.IsZero() {
		return renewed
	}
	return c.now().Add(defaultWait)
}

// renewal returns when the limits that allow no more requests are renewed, or the zero time. Linear limits the requests and
// their complexity, and gives the times in milliseconds.
func (c *Connector) renewal(header http.Header) (renewed time.Time) {
	for _, limit := range []string{"X-RateLimit-Requests-", "X-RateLimit-Complexity-"} {
		if header.Get(limit+"Remaining") != "0" {
			continue
		}
		ms, err := strconv.ParseInt(header.Get(limit+"Reset"), 10, 64)
		if err != nil {
			ms = 0
		}
		if at := connector.Renewal(time.UnixMilli(ms), c.now().UTC(), defaultWait, maxWait); at.After(renewed) {
			renewed = at
		}
	}
	return renewed
}

func unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, "Linear cannot be reached: "+outbound.Explain(err), err)
}
