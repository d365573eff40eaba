package github

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
)

// perPage is the most items that GitHub puts on a page.
const perPage = 100

// overlap is how far a list of changes reaches back behind the last change. GitHub counts in seconds and does not say whether
// "since" includes its second.
const overlap = time.Second

// list names one of the lists that a sync reads, in this order.
type list string

const (
	issues     list = "issues"
	milestones list = "milestones"
	releases   list = "releases"
)

// after returns the list that follows l, or "".
func (l list) after() list {
	switch l {
	case issues:
		return milestones
	case milestones:
		return releases
	}
	return ""
}

// state is what the connector keeps between runs: the time up to which the issues are known, and the validators of the lists
// that had one page.
type state struct {
	Since time.Time       `json:"since,omitzero"`
	Tags  map[list]string `json:"tags,omitempty"`

	Each map[string]state `json:"each,omitempty"` // of several repositories, by name; the fields above are then empty
}

// checkpoint is where a run continues: the list, the next page of it, and the state so far.
type checkpoint struct {
	List  list      `json:"list"`
	Since time.Time `json:"since,omitzero"` // of the next page, for issues
	Next  string    `json:"next,omitempty"` // the next page's address as GitHub gave it; "": the first one since Since
	State state     `json:"state"`

	Trail connector.Trail `json:"trail,omitzero"` // the pages that the run has read

	several

	unchanged bool // the list before has not changed
}

// Fetch implements connector.Source. Of each repository it reads the issues, then the milestones, then the 100 newest releases, and skips lists that
// have not changed. Pull requests, which GitHub lists as issues, are left out; a page of them alone is a page without items.
//
// Issues come in the order of their last change. Each page begins where the changes of the page before end, so an issue that
// changes or vanishes during the run moves no other issue past the reader. Milestones, and issues of which more than a page
// changed in the same second, are read by GitHub's links, whose pages are numbered: a run that follows one is shifting. An
// incremental run begins at the last change of the run before. A run of several repositories leaves out those that GitHub refuses, with the reason. A list that has not changed costs nothing of GitHub's rate limit.
//
// A rate limit returns a *connector.ThrottledError. A refused token and an unknown repository return an error that is
// connector.ErrRefused. Any other failure returns a *fault.Error whose detail says what went wrong.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	var config Config
	if err := json.Unmarshal(f.Config, &config); err != nil {
		return connector.FetchedPage{}, fmt.Errorf("configuration of github: %w", err)
	}
	var last state
	if !f.Full && len(f.State) > 0 {
		_ = json.Unmarshal(f.State, &last) // without validators everything is fetched again
	}
	at := begin(config.stateOf(last, ""))
	if len(f.Checkpoint) > 0 {
		if err := json.Unmarshal(f.Checkpoint, &at); err != nil {
			return connector.FetchedPage{}, fmt.Errorf("checkpoint of github: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := reader{Connector: c, config: config, token: cmp.Or(f.Credentials[integration.AccessToken], f.Credentials[tokenField])}
	names, err := r.names(ctx, &at)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	if len(f.Checkpoint) == 0 && config.isSeveral() {
		at = at.at(0, names, last)
	}
	for asked, began := 1, c.now(); ; asked++ {
		name := names[at.Repository]
		r.config.Repository, r.last = name, config.stateOf(last, name)
		page, next, err := r.page(ctx, at)
		if errors.Is(err, errRepository) && config.isSeveral() {
			page, next, err = at.without(name, r.last, len(names), err)
		}
		if err != nil {
			return connector.FetchedPage{}, err
		}
		page.List = name + "/" + string(at.List)
		page.Shifting = at.Next != "" || r.config.Organization != "" // GitHub leaves out a repository that the token no longer sees
		if next.List == "" && config.isSeveral() {
			next = next.after(name).at(at.Repository+1, names, last)
		}
		if next.List == "" {
			page.State, err = json.Marshal(next.State)
			return page, err
		}
		if !next.unchanged || page.NotBefore.After(c.now()) || asked == maxAsked || c.now().Sub(began) > longEnough {
			page.Checkpoint, err = json.Marshal(next)
			return page, err
		}
		at = next
	}
}

// These limit the requests of one fetch, of which all but the last say that nothing has changed: their number, and the time after which
// none is begun. The rest of the timeout is for the last of them.
const (
	maxAsked   = 20
	longEnough = timeout / 3
)

// begin returns the checkpoint at which a run of a repository begins.
func begin(last state) checkpoint {
	return checkpoint{List: issues, Since: last.Since, State: state{Since: last.Since, Tags: map[list]string{}}}
}

// reader reads the pages of one repository with one token.
type reader struct {
	*Connector
	config Config
	token  string
	last   state // of the run before; zero for a full run
}

// page gets the page at a checkpoint, and the checkpoint behind it. The next checkpoint has no list at the end of the last one.
func (r reader) page(ctx context.Context, at checkpoint) (page connector.FetchedPage, next checkpoint, err error) {
	address, tag := at.Next, ""
	if address == "" {
		address = r.address(at)
		if at.List != issues || at.Since.Equal(r.last.Since) {
			tag = r.last.Tags[at.List]
		}
	}
	trail, repeated := at.Trail.Add(address)
	if repeated {
		return page, next, fault.Wrap(fault.Unavailable, "GitHub's list does not end, because its pages repeat; check baseUrl", connector.ErrEndless)
	}
	resp, err := r.get(ctx, address, tag)
	if err != nil {
		return page, next, err
	}
	defer resp.Body.Close()
	page.NotBefore, page.CredentialsUntil = exhausted(resp.Header, r.now()), expiry(resp.Header)
	next = at
	next.Next, next.Trail, next.unchanged = "", trail, resp.StatusCode == http.StatusNotModified
	count, newest := 0, time.Time{}
	if !next.unchanged {
		tag = connector.Tag(resp.Header)
		if count, newest, err = r.decode(resp, at.List, &page); err != nil {
			return page, next, err
		}
	}
	more, err := r.following(at.List, resp.Header)
	if err != nil {
		return page, next, err
	}
	if count >= perPage && at.List != releases { // behind a full page another one can begin, and the validator does not tell
		tag = ""
	}
	if at.List == issues {
		return page, next.afterIssues(at, newest, r.now(), more, tag), nil
	}
	if next.Next = more; more == "" {
		if at.Next == "" { // the list has one page, which its validator covers
			next.State.Tags[at.List] = tag
		}
		next.List = at.List.after()
	}
	return page, next, nil
}

// afterIssues moves a checkpoint behind a page of issues, the last of which changed at newest. If a whole page changed within
// the overlap, GitHub links to the next page. The next run begins now at the latest: one issue with a time in the future would
// hide the changes of all others from it.
func (next checkpoint) afterIssues(at checkpoint, newest, now time.Time, more, tag string) checkpoint {
	since := newest.Add(-overlap)
	if newest.IsZero() || since.Before(at.Since) {
		since = at.Since
	}
	moved := since.After(at.Since)
	next.Since, next.State.Since = since, since
	if latest := now.UTC().Add(-overlap); since.After(latest) {
		next.State.Since = latest
	}
	switch {
	case more == "":
		if at.Next == "" && !moved {
			next.State.Tags[issues] = tag
		}
		next.List = issues.after()
	case !moved:
		next.Next = more
	}
	return next
}

// address returns the address of the first page of a checkpoint's list.
func (r reader) address(at checkpoint) string {
	q := url.Values{"per_page": {strconv.Itoa(perPage)}}
	switch at.List {
	case issues:
		q.Set("state", "all")
		q.Set("sort", "updated")
		q.Set("direction", "asc")
		if !at.Since.IsZero() {
			q.Set("since", at.Since.UTC().Format(time.RFC3339))
		}
	case milestones:
		q.Set("state", "all")
	}
	return r.config.base() + "/repos/" + r.config.Repository + "/" + string(at.List) + "?" + q.Encode()
}
