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

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): a POST that is repeated with the same key runs
// once, and a repeat gets the first answer. A request without the header runs every time. Operations that takesKey leaves out ignore it.
const (
	idempotencyHeader = "Idempotency-Key"
	idempotencyEntity = "idempotency"
	idempotencyPrefix = "IDEMPOTENCY#"

	// IdempotencyKept limits how long a repeat gets the first answer.
	IdempotencyKept = 24 * time.Hour
	// After this time without an answer, the first request's process has died, and a repeat may run it again.
	idempotencyLease = time.Minute
	// Bytes of an answer. A longer one is not kept, so a repeat runs again.
	maxKept = 256 << 10
)

// record holds the state of a request with a key: first the fact that it runs, then its answer. The fingerprint is keyed,
// so that a reader of the store cannot guess the request's content. The body is sealed if the operation's answers hold a
// secret.
type record struct {
	Fingerprint string            `json:"fingerprint"`
	StartedAt   time.Time         `json:"startedAt"`
	Status      int               `json:"status,omitempty"` // 0: still running
	Header      map[string]string `json:"header,omitempty"`
	Body        []byte            `json:"body,omitempty"`
}

// doOnce runs a request with a key, or replays its first answer. secret says whether the operation's answers hold a secret.
func (s *Server) doOnce(w http.ResponseWriter, r *http.Request, req *request, secret bool, run http.HandlerFunc) error {
	key, err := idempotencyKey(r.Header.Values(idempotencyHeader), req.caller)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return handlerError("cannot read request body", []error{err})
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := record{Fingerprint: s.fingerprint(r, body), StartedAt: s.opts.Now().UTC()}
	version, first, err := s.claim(r.Context(), req.tenant, key, rec)
	if err != nil {
		return err
	}
	if first != nil {
		return s.replay(r.Context(), w, req, key, *first, secret)
	}
	kept := &keptResponse{header: w.Header()}
	finished := false
	defer func() { // even if the handler panics
		if !finished {
			s.settle(r.Context(), req, func(context.Context) (store.Op, error) {
				return req.tenant.Delete(key, idempotencyEntity, version), nil
			})
		}
	}()
	run(kept, r)
	if finished = kept.worthKeeping(); finished {
		rec.Status, rec.Header, rec.Body = kept.status, kept.selected(), kept.body.Bytes()
		s.settle(r.Context(), req, func(ctx context.Context) (store.Op, error) {
			if err := s.seal(ctx, req, key, &rec, secret); err != nil {
				return store.Op{}, err
			}
			return req.tenant.Replace(key, idempotencyEntity, version, rec).Until(rec.StartedAt.Add(IdempotencyKept)), nil
		})
	}
	kept.send(w)
	return nil
}

var errNoVault = errors.New("web: the operation's answers hold a secret, and Options.Vault is missing")

// seal replaces a secret body by its sealed form.
func (s *Server) seal(ctx context.Context, req *request, key string, rec *record, secret bool) (err error) {
	if !secret {
		return nil
	}
	if s.opts.Vault == nil {
		return errNoVault
	}
	rec.Body, err = s.opts.Vault.Seal(ctx, req.tenant.ID(), key, rec.Body)
	return err
}

// replay writes the first answer again.
func (s *Server) replay(ctx context.Context, w http.ResponseWriter, req *request, key string, rec record, secret bool) error {
	if secret {
		if s.opts.Vault == nil {
			return errNoVault
		}
		var err error
		if rec.Body, err = s.opts.Vault.Open(ctx, req.tenant.ID(), key, rec.Body); err != nil {
			return fmt.Errorf("open the kept answer: %w", err)
		}
	}
	for name, v := range rec.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(rec.Status)
	w.Write(rec.Body)
	return nil
}

// claim records that the request runs. If an earlier request with the key has an answer, claim returns the record of that
// request as first.
func (s *Server) claim(ctx context.Context, c store.Company, key string, rec record) (version int64, first *record, err error) {
	var old record
	item, err := c.Get(ctx, key, &old)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return 0, nil, store.Fault(err, "")
	case old.Fingerprint != rec.Fingerprint:
		return 0, nil, fault.Refuse([]fault.FieldError{{
			Pointer: "#/header/" + idempotencyHeader, Detail: "was used for another request; use a new key for each request",
		}})
	case old.Status != 0:
		return 0, &old, nil
	case rec.StartedAt.Sub(old.StartedAt) < idempotencyLease:
		return 0, nil, inProgress()
	}
	op := c.Save(key, idempotencyEntity, item.Version, rec).Quietly().Until(rec.StartedAt.Add(IdempotencyKept))
	err = c.Commit(ctx, op)
	if errors.Is(err, store.ErrConflict) {
		return 0, nil, inProgress()
	}
	return item.Version + 1, nil, store.Fault(err, "")
}

func inProgress() error {
	e := fault.New(fault.Conflict, "a request with this Idempotency-Key is in progress; retry in a moment")
	e.RetryAfter = time.Second
	return e
}

// settleTimeout limits the write of the outcome. The time begins when the handler is done.
const settleTimeout = 5 * time.Second

// settle stores how a request with a key ended, even if the client has disconnected. outcome makes the write. The client
// gets the answer even if the outcome cannot be stored.
func (s *Server) settle(ctx context.Context, req *request, outcome func(context.Context) (store.Op, error)) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer stop()
	op, err := outcome(ctx)
	if err == nil {
		err = req.tenant.Commit(ctx, op.Quietly())
	}
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "outcome of request with Idempotency-Key not stored", "request", req.id, "error", err)
	}
}

func (s *Server) fingerprint(r *http.Request, body []byte) string {
	mac := hmac.New(sha256.New, s.fingerprintKey)
	for _, part := range []string{r.Method, r.URL.RequestURI(), string(body)} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// idempotencyKey returns the store key for the caller and the header's value: a quoted string, as in the draft, or the bare text. Each
// user, client and executive has keys of its own. It refuses more than one header.
func idempotencyKey(values []string, caller Caller) (string, error) {
	text := ""
	if len(values) == 1 {
		text = strings.Trim(strings.TrimSpace(values[0]), `"`)
	}
	visible := !strings.ContainsFunc(text, func(r rune) bool { return r < 0x21 || r > 0x7e })
	if text == "" || len(text) > 255 || !visible {
		return "", fault.New(fault.Malformed, "Idempotency-Key must be one key of 1 to 255 visible ASCII characters")
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{caller.UserID, caller.Client, caller.Executive, text}, " "))) // no part has a space
	return idempotencyPrefix + hex.EncodeToString(sum[:]), nil
}

// keptResponse buffers an answer until it is stored.
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

// worthKeeping reports whether to store the answer: a success of at most maxKept bytes. A refused request has changed
// nothing, so the client may retry it with the same key.
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

// ownKeyMark is the metadata key of an operation that finds repeats by itself.
const ownKeyMark = "orgops-own-key"

// OwnKey marks an operation whose handler finds the repeats of an Idempotency-Key by itself, and answers them with what became of
// the request. Without the mark a repeat gets the first answer again.
func OwnKey(op huma.Operation) huma.Operation { return marked(op, ownKeyMark, true) }

// takesKey reports whether an operation supports Idempotency-Key: every guarded POST does whose answer sets no cookie. Such an answer is for
// the browser that asked, so it is not kept, and each request runs. Methods other than POST are idempotent.
func takesKey(op *huma.Operation) bool {
	for _, response := range op.Responses {
		if response.Headers["Set-Cookie"] != nil {
			return false
		}
	}
	return op.Method == http.MethodPost && len(op.Security) > 0
}

// answersSecret reports whether an operation's answers hold a secret, which must not be stored in the clear.
func answersSecret(op *huma.Operation, schemas huma.Registry) bool {
	for _, response := range op.Responses {
		if response.Headers["Cache-Control"] != nil { // its handler lets no cache keep the answer
			return true
		}
		for _, media := range response.Content {
			if holdsSecret(media.Schema, schemas, map[*huma.Schema]bool{}) {
				return true
			}
		}
	}
	return false
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
		for _, word := range []string{"secret", "password", "token", "recoverycodes"} {
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
