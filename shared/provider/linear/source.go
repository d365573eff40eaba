package linear

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
)

// perPage is how many items a page asks for. Linear counts the fields of every item against a limit.
const perPage = 50

// overlap is how far an incremental run reaches back behind the begin of the run before: Linear's clock may differ from ours,
// and the run may have read an item just before it changed.
const overlap = 5 * time.Minute

// list names one of the two lists that a sync reads, in this order.
type list string

const (
	issues   list = "issues"
	projects list = "projects"
)

// state is what the connector keeps between runs.
type state struct {
	Since time.Time `json:"since,omitzero"` // changes before are known
	Team  string    `json:"team,omitempty"` // the id of the configured team
	Key   string    `json:"key,omitempty"`  // the configured key that has told the id
}

// checkpoint is where a run continues.
type checkpoint struct {
	List  list      `json:"list"`
	After string    `json:"after,omitempty"` // Linear's cursor; "": the first page
	Since time.Time `json:"since,omitzero"`  // of the changes to list; zero: everything
	Began time.Time `json:"began"`           // the run
	Team  string    `json:"team,omitempty"`  // the id of the configured team, once it is known

	Trail connector.Trail `json:"trail,omitzero"` // the pages that the run has read
}

// Fetch implements connector.Source. It reads the issues and then the projects. An incremental run lists what has changed since
// the last run began. Pages are in the order of creation, so an item that changes during a run keeps its place. Items in the
// trash are left out, so a full run removes them; archived ones stay.
//
// A rate limit returns a *connector.ThrottledError. A refused key returns an error that is connector.ErrRefused. Any other
// failure returns a *fault.Error whose detail says what went wrong.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (page connector.FetchedPage, err error) {
	var config Config
	if err := json.Unmarshal(f.Config, &config); err != nil {
		return page, fmt.Errorf("configuration of linear: %w", err)
	}
	at := checkpoint{List: issues, Began: c.now().UTC()}
	if len(f.Checkpoint) > 0 {
		if err := json.Unmarshal(f.Checkpoint, &at); err != nil {
			return page, fmt.Errorf("checkpoint of linear: %w", err)
		}
	} else if len(f.State) > 0 {
		var last state
		_ = json.Unmarshal(f.State, &last) // without a time everything is fetched again
		if !f.Full {
			at.Since = last.Since
		}
		if last.Key == config.Team {
			at.Team = last.Team
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	key := f.Credentials[keyField]
	if access := f.Credentials[integration.AccessToken]; access != "" {
		key = bearer + access
	}
	got, renewed, err := c.ask(ctx, config, key, at)
	if err != nil {
		return page, err
	}
	page.NotBefore = renewed
	info := got.info(at.List)
	cursor, err := info.next()
	if err != nil {
		return connector.FetchedPage{}, err
	}
	trail, _ := at.Trail.Add(string(at.List) + at.After)
	if _, repeated := trail.Add(string(at.List) + cursor); cursor != "" && repeated {
		return connector.FetchedPage{}, fault.Wrap(fault.Unavailable,
			"Linear's list does not end, because its pages repeat; request another sync later", connector.ErrEndless)
	}
	at.Trail, at.Team = trail, cmp.Or(at.Team, got.team())
	got.drafts(&page)
	if next, more := at.next(cursor); more {
		page.Checkpoint, err = json.Marshal(next)
	} else {
		page.State, err = json.Marshal(state{Since: at.Began.Add(-overlap), Team: at.Team, Key: config.Team})
	}
	return page, err
}

// next returns the checkpoint behind a page with a cursor, "" for none. It returns false at the end of the last list.
func (at checkpoint) next(cursor string) (checkpoint, bool) {
	switch {
	case cursor != "":
		at.After = cursor
		return at, true
	case at.List == issues:
		at.List, at.After = projects, ""
		return at, true
	}
	return at, false
}
