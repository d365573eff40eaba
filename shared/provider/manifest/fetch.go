package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Limits of one fetch.
const (
	timeout     = 30 * time.Second
	maxDocument = 8 << 20
	maxItems    = 1000  // records of a page
	maxPages    = 10000 // of a stream; more is likely to be a server that repeats itself
)

// The names of the credentials.
const (
	TokenField    = "token"
	UserField     = "username"
	PasswordField = "password"
)

// state is what a run leaves to the next one.
type state struct {
	Manifest string                          `json:"manifest,omitempty"` // which manifest the rest belongs to
	Since    time.Time                       `json:"since,omitzero"`     // changes before are known
	Began    time.Time                       `json:"began,omitzero"`     // when the run began
	Tags     map[string]connector.Validators `json:"tags,omitempty"`     // of the streams that had one page
	Learned  *learned                        `json:"learned,omitempty"`
}

// checkpoint is the next page: its address, and what came before.
type checkpoint struct {
	Stream    int             `json:"stream,omitempty"`
	Address   string          `json:"address"`
	Cursor    string          `json:"cursor,omitempty"` // that the request's body carries
	Pages     int             `json:"pages"`            // of the stream, as the other counts
	Items     int             `json:"items"`
	Trail     connector.Trail `json:"trail,omitzero"`  // the pages
	Page      string          `json:"page,omitempty"`  // identifies what the last page held
	Empty     int             `json:"empty,omitempty"` // how many of the last pages had no record
	Restarted bool            `json:"restarted,omitempty"`
	Since     time.Time       `json:"since,omitzero"`  // of the changes to list; zero: everything
	State     state           `json:"state,omitzero"`  // that the run leaves so far
	Above     *above          `json:"above,omitempty"` // of a stream with a parent
}

// run reads one page.
type run struct {
	*Manifest
	*stream
	client *outbound.Client
	now    time.Time
	connector.Fetch
	values map[string]string // of the configuration's variables
	at     checkpoint
	outer  *checkpoint // where the run stands if it reads a page of parents; at is then the page's
	last   state       // of the run before; zero for a full run
}

// Fetch gets one page. A stream is read as a whole, unless it has an incremental parameter, or one page that has not changed.
// Pages that are numbered or counted off shift, and so may those by an address, which often holds a number. A list by offset or number always
// has a last page that is empty: a deletion after the first page can make it so. A deletion between two pages that shift hides a change
// from an incremental run, so the next run lists the same changes again.
//
// A throttle returns a *connector.ThrottledError. A refusal returns an error that is connector.ErrRefused, and any other answer that
// is not the list returns connector.ErrNotListed, so that no run is complete without it. Pages that repeat return
// connector.ErrEndless. The error is a *fault.Error whose detail says what was seen and what to do.
func (m *Manifest) Fetch(ctx context.Context, client *outbound.Client, now time.Time, f connector.Fetch) (connector.FetchedPage, error) {
	r := &run{Manifest: m, client: client, now: now, Fetch: f}
	if err := r.begin(); err != nil {
		return connector.FetchedPage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := r.get(ctx)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	defer resp.Body.Close()
	document, err := r.read(resp)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	if err := r.check(resp, document); err != nil {
		if r.isStale(resp) {
			return r.restart()
		}
		return connector.FetchedPage{}, err
	}
	if resp.StatusCode == http.StatusNotModified {
		page := connector.FetchedPage{NotBefore: r.exhausted(resp.Header)}
		next, err := r.linked(resp.Header)
		if err != nil {
			return page, err
		}
		return page, r.turn(&page, next, r.last.Tags[r.Name])
	}
	r.learn(document)
	if problem := r.unlisted(document); problem != "" {
		return connector.FetchedPage{}, connector.NotListed(r.words.List, resp, document, f.Credentials, problem)
	}
	if r.outer != nil {
		return r.parents(document, resp.Header)
	}
	return r.page(ctx, document, resp.Header)
}

// read returns the body of an answer. That of a refusal counts only if the manifest describes errors, and says what it can: its size or its
// end must not hide the status.
func (r *run) read(resp *http.Response) ([]byte, error) {
	listed := resp.StatusCode == http.StatusOK
	if !listed && len(r.Errors) == 0 {
		return nil, nil
	}
	document, err := outbound.ReadBody(resp, maxDocument)
	switch {
	case listed && errors.Is(err, outbound.ErrTooLarge):
		return nil, fault.Newf(fault.Unavailable, "the page is larger than 8 MiB; ask for smaller pages in the %s", r.words.URL)
	case listed && err != nil:
		return nil, r.unreachable(err)
	}
	return connector.Page(document), nil
}

// begin reads the configuration, the checkpoint and the state. Those of another manifest of the kind, or of a connector before it, count for
// nothing but what was learned: the run lists everything from the beginning.
func (r *run) begin() error {
	if len(r.Configuration)+len(r.Learned) > 0 {
		r.values = r.valuesOf(r.Config)
		if name := r.unfit(r.values); name != "" {
			return fault.Wrap(fault.Conflict, fmt.Sprintf("the configuration has no %s that the manifest allows; configure the integration again", name), connector.ErrRefused)
		}
	}
	var last state
	_ = json.Unmarshal(r.State, &last) // without it everything is fetched again
	if !r.Full && last.Manifest == r.digest {
		r.last = last
	}
	if err := json.Unmarshal(r.Checkpoint, &r.at); err == nil && r.at.State.Manifest == r.digest && r.at.Stream >= 0 && r.at.Stream < len(r.streams) {
		r.at.State.Learned = r.recall(r.at.State.Learned)
	} else {
		known := r.recall(last.Learned)
		r.at = r.enter(max(0, slices.IndexFunc(r.streams, func(s *stream) bool { return s.Name == r.Only })))
		r.at.State = state{Manifest: r.digest, Learned: known}
		if r.incremental() {
			r.at.State.Since, r.at.State.Began = r.now.UTC(), r.now.UTC()
		}
	}
	r.stream = r.streams[r.at.Stream]
	r.descend()
	return nil
}

// enter returns the checkpoint with which a run comes to a stream.
func (r *run) enter(n int) checkpoint {
	if r.streams[n].Parent != nil {
		return r.begun(n)
	}
	return r.start(n)
}

// valuesOf reads the values of the variables in a configuration.
func (m *Manifest) valuesOf(config json.RawMessage) map[string]string {
	var given map[string]any
	_ = json.Unmarshal(config, &given) // a configuration that was checked is such an object
	values := map[string]string{}
	for name, v := range m.Configuration {
		if said, ok := given[name].(string); ok {
			values[name] = said
		} else if v.Default != "" {
			values[name] = v.Default
		}
	}
	return values
}

// unfit returns the name of a variable that the manifest needs and a configuration has not, or "". A company may have changed its manifest
// since the configuration was checked.
func (m *Manifest) unfit(values map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(m.Configuration)) {
		v, value := m.Configuration[name], values[name]
		if value == "" && !v.Optional || value != "" && len(v.Enum) > 0 && !slices.Contains(v.Enum, value) {
			return name
		}
	}
	return ""
}

// start returns the checkpoint of a stream's first page.
func (r *run) start(n int) checkpoint {
	s := r.streams[n]
	at := checkpoint{Stream: n, Address: r.address(s)}
	if p := s.Paging; p.Type == pagedByNo && p.In != inBody {
		at.Address = with(at.Address, p.Parameter, fmt.Sprint(p.First))
	}
	if i := s.Incremental; i != nil && !r.last.Since.IsZero() && !r.isTallied(s) {
		at.Since = i.since(r.last.Since)
		if i.In != inBody {
			at.Address = with(at.Address, i.Parameter, i.text(at.Since))
		}
	}
	return at
}

// address returns the address of a stream's first page. A connection may lead through another one, which stands for the origin.
func (r *run) address(s *stream) string {
	address := r.Manifest.address(s, r.values)
	if r.Base == "" { // that of the fetch, not of the manifest
		return address
	}
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return r.Base + strings.TrimPrefix(address, scheme+"://"+host)
}

// restart begins the stream again after a cursor has expired.
func (r *run) restart() (page connector.FetchedPage, err error) {
	next := r.start(r.at.Stream)
	next.State, next.Restarted, next.Above = r.at.State, true, r.at.Above
	page.Checkpoint, err = json.Marshal(next)
	return page, err
}

// isStale reports whether an answer refuses a cursor that has expired, for the first time in this run.
func (r *run) isStale(resp *http.Response) bool {
	return r.outer == nil && r.at.Pages > 0 && !r.at.Restarted && slices.Contains(r.Paging.Stale, resp.StatusCode)
}

// isTallied reports whether the run needs all records of a stream.
func (r *run) isTallied(s *stream) bool { return len(r.TalliesOf(s.Name)) > 0 }

// tally gives a record to the tallies of the stream.
func (r *run) tally(record json.RawMessage) {
	for _, t := range r.TalliesOf(r.Name) {
		t.Add(find(record, t.Source.Pointer))
	}
}

// get requests a page.
func (r *run) get(ctx context.Context) (*http.Response, error) {
	req, err := r.request(ctx)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "%s's url is not a url", r.words.List)
	}
	r.authenticate(req)
	for _, name := range r.headers {
		if value, ok := fill(r.Headers[name], r.values, plain); ok {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("User-Agent", r.words.Agent)
	req.Header.Set("Accept", "application/json")
	if r.asks() {
		r.last.Tags[r.Name].Set(req.Header)
	}
	resp, err := r.client.Document(req, maxDocument)
	if err != nil {
		return nil, r.unreachable(err)
	}
	return resp, nil
}

// asks reports whether the request asks whether the list has changed.
func (r *run) asks() bool {
	return r.at.Pages == 0 && r.outer == nil && !r.isTallied(r.stream) && r.Request.Method != http.MethodPost && r.last.Tags[r.Name] != (connector.Validators{})
}

func (r *run) request(ctx context.Context) (*http.Request, error) {
	if r.Request.Method != http.MethodPost {
		return http.NewRequestWithContext(ctx, http.MethodGet, r.at.Address, nil)
	}
	filled, _ := body(r.way(r.values).Body, r.values)
	object, _ := filled.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	if i := r.Incremental; i != nil && i.In == inBody && !r.at.Since.IsZero() {
		put(object, i.Parameter, i.value(r.at.Since))
	}
	if p := r.Paging; p.In == inBody {
		switch {
		case p.Type == pagedByNo, p.Type == PagedByOffset:
			put(object, p.Parameter, r.number(r.at))
		case r.at.Cursor != "":
			put(object, p.Parameter, r.at.Cursor)
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.at.Address, bytes.NewReader(text))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// authenticate adds the credentials. Those of the type query stand in no checkpoint and in no error.
func (r *run) authenticate(req *http.Request) {
	if access := r.Credentials[integration.AccessToken]; access != "" {
		req.Header.Set("Authorization", "Bearer "+access)
		return
	}
	if r.Auth == nil {
		return
	}
	token := r.Credentials[r.Auth.credential()]
	switch r.Auth.Type {
	case Bearer:
		req.Header.Set("Authorization", "Bearer "+token)
	case Basic:
		req.SetBasicAuth(r.Credentials[UserField], r.Credentials[PasswordField])
	case InHeader:
		req.Header.Set(r.Auth.Name, r.Auth.Prefix+token)
	case inQuery:
		if u, err := req.URL.Parse(with(req.URL.String(), r.Auth.Name, token)); err == nil {
			req.URL = u
		}
	}
}

func (r *run) unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, r.words.List+" cannot be read: "+outbound.Explain(err), err)
}
