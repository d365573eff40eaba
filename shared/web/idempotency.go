package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/fault"
	"orgops/shared/store"
)

// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): a POST that is repeated with the same key is
// done once, and answered with the first answer. A request without the header is done every time.
const (
	idempotencyHeader = "Idempotency-Key"
	idempotencyEntity = "idempotency"
	idempotencyPrefix = "IDEMPOTENCY#"

	idempotencyTTL = 24 * time.Hour
	// A request that has not answered for so long has died with its process: a repeat may do it again.
	idempotencyLease = time.Minute
	// A greater answer is not kept; a repeat is done again.
	maxKept = 256 << 10
)

// record is what is kept of a request with a key: first that it runs, then its answer. The fingerprint is keyed, so
// that nobody who reads the store can try out what was in the request.
type record struct {
	Fingerprint string            `json:"fingerprint"`
	StartedAt   time.Time         `json:"startedAt"`
	Status      int               `json:"status,omitempty"` // 0: still running
	Header      map[string]string `json:"header,omitempty"`
	Body        []byte            `json:"body,omitempty"`
}

// doOnce runs a keyed request, or answers it as it was answered before. Where answers are not kept (keyed is false) a
// POST with the header is refused, so that nobody relies on it; other methods can be repeated anyway and ignore it.
func (s *Server) doOnce(w http.ResponseWriter, r *http.Request, req *request, keyed bool, run http.HandlerFunc) error {
	if r.Method != http.MethodPost {
		run(w, r)
		return nil
	}
	if !keyed {
		return fault.New(fault.Malformed, "this answer holds what is shown only once, so it is not kept: send no Idempotency-Key")
	}
	key, err := idempotencyKey(r.Header.Values(idempotencyHeader))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ofHandler("cannot read request body", []error{err})
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := record{Fingerprint: s.fingerprint(r, req, body), StartedAt: s.opts.Now().UTC()}
	version, before, err := s.claim(r.Context(), req.tenant, key, rec)
	if err != nil {
		return err
	}
	if before != nil {
		before.replay(w)
		return nil
	}
	kept := &keptResponse{header: w.Header()}
	finished := false
	defer func() { // also when the handler panics
		if !finished {
			s.settle(r.Context(), req, req.tenant.Delete(key, idempotencyEntity, version))
		}
	}()
	run(kept, r)
	if finished = kept.worthKeeping(); finished {
		rec.Status, rec.Header, rec.Body = kept.status, kept.selected(), kept.body.Bytes()
		s.settle(r.Context(), req, req.tenant.Replace(key, idempotencyEntity, version, rec).Until(rec.StartedAt.Add(idempotencyTTL)))
	}
	kept.send(w)
	return nil
}

// claim writes that the request runs. before is the kept answer of an earlier one.
func (s *Server) claim(ctx context.Context, c store.Company, key string, rec record) (version int64, before *record, err error) {
	var old record
	item, err := c.Get(ctx, key, &old)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return 0, nil, store.Fault(err, "")
	case old.Fingerprint != rec.Fingerprint:
		return 0, nil, fault.Refuse([]fault.Problem{{
			Pointer: "#/header/" + idempotencyHeader, Detail: "was used for another request; take a new key for each",
		}})
	case old.Status != 0:
		return 0, &old, nil
	case rec.StartedAt.Sub(old.StartedAt) < idempotencyLease:
		return 0, nil, underWay()
	}
	op := c.Save(key, idempotencyEntity, item.Version, rec).Silent().Until(rec.StartedAt.Add(idempotencyTTL))
	err = c.Commit(ctx, op)
	if errors.Is(err, store.ErrConflict) {
		return 0, nil, underWay()
	}
	return item.Version + 1, nil, store.Fault(err, "")
}

func underWay() error {
	e := fault.New(fault.Conflict, "a request with this Idempotency-Key is under way; repeat it in a moment")
	e.RetryAfter = time.Second
	return e
}

// settleTimeout begins when the handler is done, however long that took.
const settleTimeout = 5 * time.Second

// settle writes how a keyed request ended, even when the caller has gone. The answer is the caller's due whether that
// succeeds or not.
func (s *Server) settle(ctx context.Context, req *request, op store.Op) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer stop()
	if err := req.tenant.Commit(ctx, op.Silent()); err != nil {
		s.opts.Logger.WarnContext(ctx, "settle a keyed request", "request", req.id, "error", err)
	}
}

func (s *Server) fingerprint(r *http.Request, req *request, body []byte) string {
	mac := hmac.New(sha256.New, s.printKey)
	for _, part := range []string{r.Method, r.URL.RequestURI(), req.caller.UserID, string(body)} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// idempotencyKey is the item's key of the one header: a quoted string as the draft says, or the bare text.
func idempotencyKey(values []string) (string, error) {
	text := ""
	if len(values) == 1 {
		text = strings.Trim(strings.TrimSpace(values[0]), `"`)
	}
	visible := !strings.ContainsFunc(text, func(r rune) bool { return r < 0x21 || r > 0x7e })
	if text == "" || len(text) > 255 || !visible {
		return "", fault.New(fault.Malformed, "Idempotency-Key must be one key of 1 to 255 visible ASCII characters")
	}
	sum := sha256.Sum256([]byte(text))
	return idempotencyPrefix + hex.EncodeToString(sum[:]), nil
}

// keptResponse holds an answer back until it is stored.
type keptResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptResponse) Header() http.Header { return k.header }

func (k *keptResponse) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *keptResponse) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(b)
}

// worthKeeping is a success: what was refused has done nothing, and may be tried again with the same key.
func (k *keptResponse) worthKeeping() bool {
	k.WriteHeader(http.StatusOK)
	return k.status < 300 && k.body.Len() <= maxKept
}

func (k *keptResponse) selected() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Content-Type", "Cache-Control", "Etag", "Location", "Link"} {
		if v := k.header.Get(name); v != "" {
			out[name] = v
		}
	}
	return out
}

func (k *keptResponse) send(w http.ResponseWriter) {
	w.WriteHeader(k.status)
	w.Write(k.body.Bytes())
}

func (rec record) replay(w http.ResponseWriter) {
	for name, v := range rec.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(rec.Status)
	w.Write(rec.Body)
}

// takesKey reports whether an operation honours Idempotency-Key: a guarded POST whose answer holds no secret.
func takesKey(op *huma.Operation, schemas huma.Registry) bool {
	if op.Method != http.MethodPost || len(op.Security) == 0 {
		return false
	}
	for _, response := range op.Responses {
		for _, media := range response.Content {
			if holdsSecret(media.Schema, schemas, map[*huma.Schema]bool{}) {
				return false
			}
		}
	}
	return true
}

func holdsSecret(s *huma.Schema, schemas huma.Registry, seen map[*huma.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.Ref != "" {
		return holdsSecret(schemas.SchemaFromRef(s.Ref), schemas, seen)
	}
	for name, property := range s.Properties {
		lower := strings.ToLower(name)
		for _, word := range []string{"secret", "password", "token"} {
			if strings.HasSuffix(lower, word) {
				return true
			}
		}
		if holdsSecret(property, schemas, seen) {
			return true
		}
	}
	return holdsSecret(s.Items, schemas, seen)
}
