package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/grant"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

// Limits of a client's document (draft-ietf-oauth-client-id-metadata-document).
const (
	MaxClientDocument = 10 << 10 // bytes
	maxClientName     = 100      // characters
	maxRedirects      = 20
	documentFresh     = 5 * time.Minute
	documentAgain     = 30 * time.Second // after a failure
	maxDocuments      = 256
)

// clientDocument holds what a third party says about itself at the address that is its client_id.
type clientDocument struct {
	ClientID  string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Method    string   `json:"token_endpoint_auth_method"`
}

// clientDocuments reads and keeps the documents of third parties. It is safe for concurrent use.
type clientDocuments struct {
	client *outbound.Client
	now    func() time.Time
	limit  *web.SourceLimit // of reads

	mu    sync.Mutex
	known map[string]readDocument
}

// readDocument holds a document, or why it was not accepted, until a time.
type readDocument struct {
	document clientDocument
	err      error
	until    time.Time
}

func newClientDocuments(client *outbound.Client, now func() time.Time) *clientDocuments {
	return &clientDocuments{client: client, now: now, limit: web.NewSourceLimit("documents", MaxClientDocuments, now), known: map[string]readDocument{}}
}

// get returns the document of a client_id.
func (d *clientDocuments) get(ctx context.Context, clientID string) (clientDocument, error) {
	if err := d.check(clientID); err != nil {
		return clientDocument{}, err
	}
	now := d.now()
	d.mu.Lock()
	found, ok := d.known[clientID]
	d.mu.Unlock()
	if ok && now.Before(found.until) {
		return found.document, found.err
	}
	if err := d.limit.Take(ctx); err != nil {
		return clientDocument{}, err
	}
	found = readDocument{until: now.Add(documentFresh)}
	if found.document, found.err = d.read(context.WithoutCancel(ctx), clientID); found.err != nil {
		found.until = now.Add(documentAgain)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments {
		clear(d.known)
	}
	d.known[clientID] = found
	return found.document, found.err
}

// check refuses a client_id that cannot be the address of a document: it needs a path, and no text that leads elsewhere once it is read
// as an address.
func (d *clientDocuments) check(clientID string) error {
	if d.client == nil || len(d.client.CheckURL("", clientID)) > 0 {
		return errClientID("is not the https address of a client's document")
	}
	u, err := url.Parse(clientID)
	if err != nil || u.Path == "" || u.Path == "/" || slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return errClientID("needs a path to the client's document, without dots as a part of it")
	}
	return nil
}

func errClientID(detail string) error {
	return fault.Refuse([]fault.FieldError{{Pointer: "#/query/client_id", Detail: detail}})
}

// read fetches a document under the egress rules: it follows no redirect and calls no private address.
func (d *clientDocuments) read(ctx context.Context, clientID string) (clientDocument, error) {
	var doc clientDocument
	ctx, stop := context.WithTimeout(ctx, providerTimeout)
	defer stop()
	raw, err := fetch(ctx, d.client, clientID, MaxClientDocument)
	if errors.Is(err, outbound.ErrTooLarge) {
		return doc, errClientID("leads to a document of more than 10 KiB")
	}
	if err != nil {
		return doc, fault.Wrap(fault.Invalid, "the client's document could not be read; it must answer 200 at a public https address, without a redirect", err)
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return doc, errClientID("leads to a document that is not JSON of the needed form")
	}
	return doc, doc.check(clientID)
}

// fetch reads one document under the egress rules, without redirects.
func fetch(ctx context.Context, client *outbound.Client, address string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, statusError(resp.StatusCode)
	}
	return outbound.ReadBody(resp, limit)
}

// check refuses a document that is not of the client_id, or of a client that this service does not serve.
func (doc clientDocument) check(clientID string) error {
	switch {
	case doc.ClientID != clientID:
		return errClientID("differs from the client_id in the document")
	case !text.IsLine(doc.Name) || len([]rune(doc.Name)) > maxClientName:
		return errClientID("leads to a document whose client_name is not one line of 1 to 100 characters")
	case doc.Method != "" && doc.Method != "none":
		return errClientID("leads to a document whose token_endpoint_auth_method is not none; a machine with keys is a client of the company")
	case len(doc.Redirects) == 0 || len(doc.Redirects) > maxRedirects:
		return errClientID("leads to a document without 1 to 20 redirect_uris")
	}
	return nil
}

// leads reports whether a client may be led back to an address: one of the document, character by character. Only the port of a
// loopback address may differ, because a program on the person's machine takes any free one (RFC 8252 §7.3).
func (doc clientDocument) leads(redirect string) bool {
	if !safeRedirect(redirect) {
		return false
	}
	return slices.ContainsFunc(doc.Redirects, func(registered string) bool {
		return registered == redirect || isLoopback(registered) && withoutPort(registered) == withoutPort(redirect)
	})
}

// safeRedirect reports whether the console may lead a browser to an address: https, or http on the person's own machine.
func safeRedirect(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || strings.Contains(address, "#") || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return false
	}
	return u.Scheme == "https" || isLoopback(address)
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && a.IsLoopback()
}

// withoutPort returns an address of a loopback without its port.
func withoutPort(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Port() == "" {
		return address
	}
	before, after, _ := strings.Cut(address, "://")
	return before + "://" + strings.Replace(after, ":"+u.Port(), "", 1)
}

// client returns the third party as a grant describes it.
func (doc clientDocument) client() grant.Client {
	return grant.Client{ID: doc.ClientID, Name: doc.Name, Host: hostOf(doc.ClientID)}
}

// hostOf returns the host of an address, with its port if it has one.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
