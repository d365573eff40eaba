// Package manifest fetches from providers that are described by data. A manifest says where a provider's lists are, how a request is
// authenticated, how the next page is found, and what an item becomes. README.md has the table of what a manifest can say.
package manifest

import (
	"cmp"
	"encoding/json"

	"orgops/shared/domain/integration"
)

// Document is a manifest as it is written and stored. A pointer is a JSON Pointer (RFC 6901). A text with {name} in it takes the value
// of the configuration's variable name.
type Document struct {
	Kind          string              `json:"kind"`
	Title         string              `json:"title"`
	Description   string              `json:"description"`
	Configuration map[string]Variable `json:"configuration,omitempty"`
	Base          string              `json:"base"` // what the address of every request begins with
	Headers       map[string]string   `json:"headers,omitempty"`
	Auth          *Auth               `json:"auth,omitempty"`    // nil: requests carry no credentials
	Learned       map[string]string   `json:"learned,omitempty"` // variables that answers tell, by pointers into the document
	Throttle      Throttle            `json:"throttle,omitzero"`
	Errors        []Complaint         `json:"errors,omitempty"`
	Lists         Lists               `json:"lists,omitzero"`
	Streams       []Stream            `json:"streams"`

	Words Words `json:"-"`
}

// Variable describes a field of the configuration. Its value is a text.
type Variable struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Form        string   `json:"form,omitempty"`    // text, host or url; "": text
	Pattern     string   `json:"pattern,omitempty"` // regular expression of a text
	Says        string   `json:"says,omitempty"`    // what the pattern allows, in words
	Enum        []string `json:"enum,omitempty"`
	Optional    bool     `json:"optional,omitempty"`
	Default     string   `json:"default,omitempty"` // its value if it is absent
	Example     string   `json:"example,omitempty"`
}

// The forms of a variable that are more than a text.
const (
	formHost, formURL = "host", "url"
)

// Auth says how a request carries the stored credentials.
type Auth struct {
	Type        string `json:"type"`                 // bearer, basic, header or query
	Name        string `json:"name,omitempty"`       // of the header or the query parameter
	Prefix      string `json:"prefix,omitempty"`     // of the header's value, in front of the token
	Credential  string `json:"credential,omitempty"` // name of the stored token; "": token
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"` // where the provider shows the token
}

// The forms of authentication.
const (
	Bearer   = "bearer"
	Basic    = "basic"
	InHeader = "header"
	inQuery  = "query"
)

// credential returns the name of the stored token.
func (a Auth) credential() string { return cmp.Or(a.Credential, TokenField) }

// Throttle says how the provider asks to wait, in addition to 429, to 503 with Retry-After, and to Retry-After itself.
type Throttle struct {
	Statuses  []int   `json:"statuses,omitempty"`  // that ask to wait if they come with Retry-After, or with no request left
	Remaining string  `json:"remaining,omitempty"` // header that is 0 when no request is left
	Reset     string  `json:"reset,omitempty"`     // header with the time at which requests are taken again
	Also      []Limit `json:"also,omitempty"`      // limits that hold at the same time
	Form      string  `json:"form,omitempty"`      // of each reset: seconds to wait, epoch-s, epoch-ms or rfc3339
	Wait      int     `json:"wait,omitempty"`      // seconds without such a time; 0: 5 minutes
}

// Limit names the headers of a limit, as those of Throttle.
type Limit struct {
	Remaining string `json:"remaining,omitempty"`
	Reset     string `json:"reset,omitempty"`
}

// Complaint recognizes an answer that reports an error in its body, with any status.
type Complaint struct {
	Pointer string   `json:"pointer"`
	Values  []string `json:"values,omitempty"` // any of these texts; none: any value but null, false, 0 and empty ones
	Means   string   `json:"means"`            // refused, throttled or failed
	Detail  string   `json:"detail,omitempty"`
}

// What a complaint means, unless it is a failure.
const (
	meansRefused, meansThrottled = "refused", "throttled"
)

// Lists says what a full run lists completely. What it does not list is removed.
type Lists struct {
	Kinds []string `json:"kinds,omitempty"` // of memories
	Goals bool     `json:"goals,omitempty"`
}

// Stream describes one list. The streams of a manifest are read in order.
type Stream struct {
	Name        string          `json:"name"`
	Request     Request         `json:"request"`
	Records     string          `json:"records"`       // pointer to the list in the document; "": the document is the list
	One         bool            `json:"one,omitempty"` // the value at records is the only record
	Paging      Paging          `json:"paging,omitzero"`
	Parent      *Parent         `json:"parent,omitempty"` // nil: the stream is read once
	Incremental *Incremental    `json:"incremental,omitempty"`
	Deleted     *Deleted        `json:"deleted,omitempty"`
	Item        *Item           `json:"item,omitempty"`
	Mapping     json.RawMessage `json:"mapping,omitempty"` // in the language of package mapping; a record is .item
}

// Request describes the request for the first page.
type Request struct {
	Method string            `json:"method,omitempty"` // GET or POST; "": GET
	Path   string            `json:"path,omitempty"`   // behind the base
	Query  map[string]string `json:"query,omitempty"`
	Body   map[string]any    `json:"body,omitempty"`   // of a POST; a member whose text names an absent variable is left out
	Either []Part            `json:"either,omitempty"` // the first part whose variables all have a value is added
}

// Part is a part of a request: its path in place of the request's, and more members of the query and the body.
type Part struct {
	Path  string            `json:"path,omitempty"`
	Query map[string]string `json:"query,omitempty"`
	Body  map[string]any    `json:"body,omitempty"`
}

// Paging says how the next page is found.
type Paging struct {
	Type      string `json:"type,omitempty"`      // none, link, next, cursor, last-id, page or offset; "": none
	Pointer   string `json:"pointer,omitempty"`   // to the address or the cursor in the document, or to the id in the last record
	Parameter string `json:"parameter,omitempty"` // query parameter, or pointer into the body, that takes the cursor or the number
	In        string `json:"in,omitempty"`        // query or body; "": query
	More      string `json:"more,omitempty"`      // pointer to a boolean in the document that is true if there is a next page
	Last      string `json:"last,omitempty"`      // pointer to a boolean that is true on the last page
	First     int    `json:"first,omitempty"`     // number of the first page
	Stale     []int  `json:"stale,omitempty"`     // statuses that refuse a cursor that has expired; the list is read again once
}

// The ways to the next page.
const (
	PagedByLink   = "link"
	PagedByCursor = "cursor"
	PagedByOffset = "offset"
	pagedByNext   = "next"
	pagedByLastID = "last-id"
	pagedByNo     = "page"
	once          = "none"
	inBody        = "body"
)

// Incremental says how a request asks for what has changed since the last run.
type Incremental struct {
	Parameter string `json:"parameter"`
	In        string `json:"in,omitempty"`      // query or body; "": query
	Form      string `json:"form"`              // rfc3339, date, epoch-s, epoch-ms or epoch-us
	Overlap   int    `json:"overlap,omitempty"` // seconds that a run reaches back behind the begin of the run before; 0: 5 minutes
}

// Deleted recognizes a record of something that is gone. What it shows is removed, also in an incremental run.
type Deleted struct {
	Pointer string   `json:"pointer"`
	Values  []string `json:"values,omitempty"` // none: any value but null, false, 0 and empty ones
}

// Item says by pointers into a record what it becomes, where no mapping is needed.
type Item struct {
	Target    string `json:"target"` // memory or goal
	Kind      string `json:"kind,omitempty"`
	ID        string `json:"id"`
	Title     string `json:"title"`
	Body      string `json:"body,omitempty"`
	Link      string `json:"link,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
	Progress  string `json:"progress,omitempty"`
	DueAt     string `json:"dueAt,omitempty"`
}

// The targets of an item.
const (
	ToMemory = "memory"
	ToGoal   = "goal"
)

// Words says what errors call the parts of a manifest. A connector whose configuration becomes a manifest has its own.
type Words struct {
	List      string // the provider's list
	URL       string // where the address stands
	Records   string
	ID        string
	UpdatedAt string
	DueAt     string
	Progress  string
	Cursor    string
	Agent     string // the User-Agent
}

// words returns the words of a manifest without its own.
func (d Document) words() Words {
	if d.Words.List != "" {
		return d.Words
	}
	return Words{
		List: d.Title, URL: "manifest", Records: "records", ID: "item/id", UpdatedAt: "item/updatedAt", DueAt: "item/dueAt",
		Progress: "item/progress", Cursor: "paging/pointer", Agent: "orgops-" + d.Kind,
	}
}

// Ports returns the ports that the streams need.
func (m *Manifest) Ports() []integration.Port {
	ports := []integration.Port{integration.SyncPull}
	for _, port := range []integration.Port{integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote} {
		if m.acts[port] {
			ports = append(ports, port)
		}
	}
	return ports
}
