package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/storage/store"
)

// auditMark is the metadata key of how an operation is audited: the reason why it is not, or "".
const auditMark = "orgops-audit"

// Audited marks an operation whose requests are recorded. The record of a success is written in the transaction of the
// handler's first commit, if the handler commits. Any other record is written when the request ends. A request with a token
// that is not valid has no record, because nothing tells its company. The handler of a public operation calls Identify.
func Audited(op huma.Operation) huma.Operation { return marked(op, auditMark, "") }

// Unaudited marks an operation whose requests are not recorded, and says why.
func Unaudited(op huma.Operation, why string) huma.Operation { return marked(op, auditMark, why) }

// refusalsMark is the metadata key of what tells who made a request that succeeded.
const refusalsMark = "orgops-audit-refusals"

// AuditedRefusals marks an operation of which only the requests that do not succeed are recorded, and says what tells who made
// those that do.
func AuditedRefusals(op huma.Operation, told string) huma.Operation {
	return marked(Audited(op), refusalsMark, told)
}

// AuditedWrites marks an operation as Audited, or a GET as not. A read changes nothing, and a founder's pages make hundreds of
// reads a day: their records would cost more than the reads do, and hide the changes.
func AuditedWrites(op huma.Operation) huma.Operation {
	if op.Method == http.MethodGet {
		return Unaudited(op, "a read changes nothing")
	}
	return Audited(op)
}

// AuditOf returns why an operation is not audited, "" for an audited operation. declared is false for an operation that does not say.
func AuditOf(op *huma.Operation) (why string, declared bool) {
	why, declared = op.Metadata[auditMark].(string)
	return why, declared
}

// isAudited reports whether an operation is audited. An operation that does not say is audited, unless it is a GET.
func isAudited(op *huma.Operation) bool {
	why, declared := AuditOf(op)
	return declared && why == "" || !declared && op.Method != http.MethodGet
}

// Audit says who asked for what and what came of it.
type Audit struct {
	At        time.Time
	Caller    Caller
	Operation string
	Resource  string
	Outcome   string // success, failure, denied
	Status    int    // of a request that did not succeed
	RequestID string
	Network   string // of the caller
	Omitted   int    // earlier failures of the caller without a record
}

// trail collects what is recorded of one request.
type trail struct {
	server *Server
	req    *request

	mu    sync.Mutex
	known bool // whose request it is
	concerned
	further  []concerned // other companies, in which a success is recorded too
	resource string
	told     bool                        // something else tells who made a request that succeeds
	refused  int                         // the status that the answer would have had, if it leads a browser on instead
	blank    func(context.Context) error // of a request without a known user; see Unidentified
	stranger string
	written  bool
	number   int // of attempts to write
}

// concerned is a company that a request concerns, and who asked, as the company knows the caller.
type concerned struct {
	tenant store.Company
	caller Caller
}

// maxResource limits the bytes of a record's resource, because a caller chooses what stands in a path.
const maxResource = 256

// follow begins the trail of a request for an audited operation.
func (s *Server) follow(op *huma.Operation, req *request, r *http.Request) {
	if s.opts.Audit == nil {
		return
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if rest, ok := strings.CutPrefix(path, "companies/"); ok {
		_, path, _ = strings.Cut(rest, "/")
	} else {
		path = strings.TrimPrefix(op.Path, "/") // the path of such an operation may hold a code, which the record's readers must not see
	}
	req.trail = &trail{server: s, req: req, resource: path[:min(len(path), maxResource)], told: op.Metadata[refusalsMark] != nil}
}

// identify names the company and the user of a request.
func (t *trail) identify(tenant store.Company, caller Caller) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known, t.tenant, t.caller = true, tenant, caller
}

// Identify names the company and the user of a request for an audited public operation, which the guard cannot know.
func Identify(ctx context.Context, tenant store.Company, caller Caller) {
	if req := requestOf(ctx); req != nil {
		req.trail.identify(tenant, caller)
	}
}

// Unidentified gives a request of an unknown user a write in place of the record of its refusal, under the same limit of writes. So
// the time of an answer does not tell whether there is a user. name identifies the unknown user.
func Unidentified(ctx context.Context, name string, write func(context.Context) error) {
	if req := requestOf(ctx); req != nil && req.trail != nil {
		req.trail.mu.Lock()
		defer req.trail.mu.Unlock()
		req.trail.stranger, req.trail.blank = name, write
	}
}

// Refused tells the log and the record of a request that it was refused, although its answer leads a browser on to a page that
// says so.
func Refused(ctx context.Context, err error) {
	req := requestOf(ctx)
	if req == nil {
		return
	}
	p := problemOf(req, err, http.Header{})
	if t := req.trail; t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.refused = p.Status
	}
}

// Affects names what a request is on, if its path does not: what it creates. Call it before the commit.
func Affects(ctx context.Context, resource string) {
	if req := requestOf(ctx); req != nil && req.trail != nil {
		req.trail.mu.Lock()
		defer req.trail.mu.Unlock()
		req.trail.resource = resource
	}
}

// Record writes the record of a request on a resource before it is answered, also if only refusals of its operation are recorded. If the
// store does not take it, it is tried again when the request has ended: the request does not fail.
func Record(ctx context.Context, resource string) {
	req := requestOf(ctx)
	if req == nil || req.trail == nil {
		return
	}
	t := req.trail
	t.mu.Lock()
	t.told, t.resource = false, resource
	t.mu.Unlock()
	if records := t.join(1); len(records) > 0 {
		t.joined(t.tenant.Commit(ctx, records...) == nil)
	}
}

// Recorded returns st with the request's record added to the first commit. The store of Tenant adds it by itself. Handlers
// need Recorded for a commit that goes beyond the company's partition.
func Recorded(ctx context.Context, st store.Store) store.Store {
	req := requestOf(ctx)
	if req == nil || req.trail == nil {
		return st
	}
	return recorded{st, req.trail}
}

// Concern names a further company that a request concerns, and who asked, as that company knows the person. The commit that records the
// request records it there too.
func Concern(ctx context.Context, tenant store.Company, caller Caller) {
	if req := requestOf(ctx); req != nil && req.trail != nil {
		req.trail.mu.Lock()
		defer req.trail.mu.Unlock()
		req.trail.further = append(req.trail.further, concerned{tenant, caller})
	}
}

// recorded is a store that adds the records of a request to a commit.
type recorded struct {
	store.Store
	trail *trail
}

// Commit implements store.Store.
func (s recorded) Commit(ctx context.Context, ops ...store.Op) error {
	records := s.trail.join(len(ops))
	if len(records) == 0 {
		return s.Store.Commit(ctx, ops...)
	}
	err := s.Store.Commit(ctx, slices.Concat(ops, records)...)
	s.trail.joined(err == nil)
	return err
}

// join returns the records for a commit of so many writes, none if the commit gets none.
func (t *trail) join(ops int) (records []store.Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written || t.told || !t.known || ops == 0 || ops+len(t.further) >= store.MaxOps {
		return nil
	}
	t.written = true
	for _, in := range slices.Concat([]concerned{t.concerned}, t.further) {
		records = append(records, t.write(in, "success", 0, 0))
	}
	return records
}

// joined remembers whether the commit with the record succeeded. If not, the next commit gets a record.
func (t *trail) joined(written bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = written
}

// write returns the write of a record. The caller holds the lock.
func (t *trail) write(in concerned, outcome string, status, omitted int) store.Op {
	t.number++
	return t.server.opts.Audit(in.tenant, Audit{
		At: t.server.opts.Now(), Caller: in.caller, Operation: t.req.operation, Resource: t.resource, Outcome: outcome, Status: status,
		RequestID: t.req.id, Network: t.req.network(), Omitted: omitted,
	}, t.number)
}

// end writes the record of a request that ended with a status, unless a commit has written it. It also writes one for a
// request that failed after such a commit.
func (t *trail) end(ctx context.Context, status int) {
	if t == nil {
		return
	}
	write, ok := t.last(status)
	if !ok {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer stop()
	if err := write(ctx); err != nil {
		t.server.opts.Logger.ErrorContext(ctx, "audit record not stored", "request", t.req.id, "operation", t.req.operation, "status", status, "error", err)
	}
}

// last returns the write of the records that are still to be written when the request has ended with a status; ok is false if none is
// left to write. Further companies learn of a success alone.
func (t *trail) last(status int) (write func(context.Context) error, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	status = cmp.Or(t.refused, status)
	outcome := outcomeOf(status)
	if !t.known && t.blank != nil && outcome != "success" {
		_, ok = t.server.strangers.count(t.stranger, t.server.opts.Now())
		return t.blank, ok
	}
	if !t.known || outcome == "success" && (t.written || t.told) {
		return nil, false
	}
	t.written = true // no later commit gets a record
	omitted, all := 0, []concerned{t.concerned}
	if outcome == "success" {
		status, all = 0, append(all, t.further...)
	} else if omitted, ok = t.server.failures.count(t.caller.Company+"/"+t.caller.UserID, t.server.opts.Now()); !ok {
		return nil, false
	}
	records := make([]store.Op, len(all))
	for n, in := range all {
		records[n] = t.write(in, outcome, status, omitted)
	}
	return func(ctx context.Context) (err error) {
		for n, in := range all {
			err = errors.Join(err, in.tenant.Commit(ctx, records[n]))
		}
		return err
	}, true
}

func outcomeOf(status int) string {
	switch {
	case status < http.StatusBadRequest:
		return "success"
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		return "denied"
	}
	return "failure"
}
