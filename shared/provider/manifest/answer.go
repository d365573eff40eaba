package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// The waits of a throttled run.
const (
	defaultWait = 5 * time.Minute
	longestWait = 24 * time.Hour
)

// check returns nil for a 200, and for a 304 that was asked for. Otherwise it returns an error that says why the answer holds no list.
// What the body says of a throttle or a refusal counts before the status: some providers throttle with 400, and some refuse with 200. What it
// calls a failure counts after the statuses that say more.
func (r *run) check(resp *http.Response, document []byte) error {
	complaint := r.complained(resp, document)
	switch s := resp.StatusCode; {
	case complaint != nil && !errors.Is(complaint, connector.ErrNotListed):
		return complaint
	case r.throttles(resp):
		return &connector.ThrottledError{Until: r.until(resp.Header), Failing: connector.IsFailing(resp)}
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("%s answers %d; check the credentials", r.words.List, s), connector.ErrRefused)
	case complaint != nil:
		return complaint
	}
	return connector.Status(r.words.List, resp, r.asks())
}

// complained returns the error that an answer's body reports by one of the manifest's complaints, or nil.
func (r *run) complained(resp *http.Response, document []byte) error {
	for _, c := range r.Errors {
		said := find(document, c.Pointer)
		if !tells(said, c.Values) {
			continue
		}
		detail := c.Detail
		if detail == "" {
			detail = fmt.Sprintf("it reports %q", textOf(said))
		}
		switch c.Means {
		case meansThrottled:
			return &connector.ThrottledError{Until: r.until(resp.Header)}
		case meansRefused:
			return fault.Wrap(fault.Unavailable, r.words.List+" refuses the request: "+detail, connector.ErrRefused)
		}
		return fault.Wrap(fault.Unavailable, r.words.List+" does not answer with the list: "+detail, connector.ErrNotListed)
	}
	return nil
}

// tells reports whether a value is one of some texts, or, without them, whether it is there: not null, false, 0 or empty.
func tells(value json.RawMessage, texts []string) bool {
	if len(texts) > 0 {
		return len(value) > 0 && slices.Contains(texts, textOf(value))
	}
	return len(value) > 0 && isSet(compact(value))
}

// throttles reports whether an answer's status asks to wait.
func (r *run) throttles(resp *http.Response) bool {
	says := resp.Header.Get("Retry-After") != "" || r.Throttle.usedUp(resp.Header)
	return connector.Throttled(resp, r.now) != nil || says && slices.Contains(r.Throttle.Statuses, resp.StatusCode)
}

// wait returns how long to wait without a time.
func (r *run) wait() time.Duration {
	if r.Throttle.Wait > 0 {
		return time.Duration(r.Throttle.Wait) * time.Second
	}
	return defaultWait
}

// until returns when a throttled request may be repeated.
func (r *run) until(header http.Header) time.Time {
	var last time.Time
	for _, l := range r.Throttle.limits() {
		if at, ok := r.reset(header.Get(l.Reset)); ok && !l.isLeft(header) {
			if at = connector.Renewal(at, r.now.UTC(), r.wait(), longestWait); at.After(last) {
				last = at
			}
		}
	}
	if header.Get("Retry-After") == "" && !last.IsZero() {
		return last
	}
	return r.now.Add(outbound.RetryAfter(header, r.now, r.wait(), longestWait))
}

// limits lists the limits, each with its headers.
func (t Throttle) limits() []Limit { return append([]Limit{{t.Remaining, t.Reset}}, t.Also...) }

// isLeft reports whether an answer says that the limit allows more requests.
func (l Limit) isLeft(header http.Header) bool {
	said := header.Get(l.Remaining)
	return said != "" && said != "0"
}

// usedUp reports whether an answer says that one of the limits allows no more requests.
func (t Throttle) usedUp(header http.Header) bool {
	return slices.ContainsFunc(t.limits(), func(l Limit) bool { return header.Get(l.Remaining) == "0" })
}

// reset reads the time at which a limit allows requests again. ok is false for a header that does not say one.
func (r *run) reset(said string) (at time.Time, ok bool) {
	if r.Throttle.Form == "rfc3339" {
		at, err := time.Parse(time.RFC3339, said)
		return at, err == nil
	}
	n, err := strconv.ParseFloat(said, 64)
	if err != nil || n < 0 || n > 1e15 {
		return at, false
	}
	switch r.Throttle.Form {
	case "epoch-ms":
		return time.UnixMilli(int64(n)), true
	case "seconds":
		return r.now.Add(min(longestWait, time.Duration(n*float64(time.Second)))), true
	}
	return time.UnixMilli(int64(n * 1000)), true
}

// exhausted returns when the next request may be sent if this one was the last that the limits allow, or the zero time.
func (r *run) exhausted(header http.Header) time.Time {
	if !r.Throttle.usedUp(header) {
		return time.Time{}
	}
	return r.until(header)
}

// unlisted says why a document is not the list and what to do, or returns "".
func (r *run) unlisted(document []byte) string {
	if !json.Valid(document) {
		return "that is not JSON, or it was cut off; check that the " + r.words.URL + " is the API's, and the credentials"
	}
	if name := r.complaint(document); name != "" {
		return fmt.Sprintf("its member %q reports an error; check the %s and the credentials", name, r.words.URL)
	}
	if r.One && len(find(document, r.Records)) > 0 {
		return ""
	}
	if list := find(document, r.Records); len(list) == 0 || list[0] != '[' {
		return fmt.Sprintf("the document has no list at %s; check %s, and the credentials", cmp.Or(r.Words.Records, r.Records, r.words.Records), r.words.Records)
	}
	return ""
}

// complaint returns the member by which a document reports an error, or "". Many APIs answer 200 to what they refuse, some of
// them with an empty list. A member that holds the list or the cursor means something else.
func (r *run) complaint(document []byte) string {
	if r.One && r.Records == "" {
		return ""
	}
	list := compact(find(document, r.Records))
	return r.complaintIn(document, "", true, list != "[]")
}

// complaintIn looks at the members of the object at a pointer, and at those of what is told about the list. filled says that the document
// has records.
func (r *run) complaintIn(object json.RawMessage, at string, deeper, filled bool) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, pointer := members[name], at+"/"+name
		is, within := isComplaint, false
		switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
		case "errors":
			if isNumber(value) {
				if is = isSet; filled { // it counts something else
					continue
				}
			}
		case "error", "errormessage", "errorcode", "haserror", "haserrors":
		case "ok", "success", "issuccess":
			is = isFalse
		case "status", "meta":
			is, within = isError, deeper
		case "code", "statuscode":
			is = isError
		case "result": // a number counts
			is = isFailure
		default:
			continue
		}
		if within {
			if found := r.complaintIn(value, pointer, false, filled); found != "" {
				return found
			}
		}
		used := slices.ContainsFunc(r.used, func(p string) bool { return strings.HasPrefix(p+"/", pointer+"/") })
		if !used && is(compact(value)) {
			return strings.ReplaceAll(pointer[1:], "/", ".")
		}
	}
	return ""
}

// compact returns a value without the space that some programs write, also into an empty list.
func compact(value json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, value) // it was decoded
	return b.String()
}

// isSet reports whether a value is there: it is not empty, false or 0.
func isSet(value string) bool {
	switch strings.ToLower(strings.Trim(value, `"`)) {
	case "null", "false", "", "0", "[]", "{}":
		return false
	}
	return true
}

// isComplaint reports whether the value of a member that is named for errors tells of one: it is set, and is no word or code for none.
func isComplaint(value string) bool {
	text := strings.ToLower(strings.Trim(value, `".`))
	if code, err := strconv.Atoi(text); err == nil {
		return code != 0 && (code < 200 || code > 299)
	}
	switch text {
	case "none", "no error", "ok", "success":
		return false
	}
	return isSet(value)
}

func isNumber(value json.RawMessage) bool {
	_, err := strconv.ParseUint(string(value), 10, 64)
	return err == nil
}

func isFalse(value string) bool {
	return value == "0" || strings.EqualFold(strings.Trim(value, `"`), "false")
}

// isError reports whether a value is an HTTP status of an error, or a word for one.
func isError(value string) bool {
	if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil {
		return n >= 400 && n < 600
	}
	return isFailure(value)
}

// isFailure reports whether a value is a word for an error.
func isFailure(value string) bool {
	switch strings.ToLower(value) {
	case `"error"`, `"fail"`, `"failed"`, `"failure"`:
		return true
	}
	return false
}
