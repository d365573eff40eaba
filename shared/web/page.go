package web

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"orgops/shared/fault"
)

// MaxPage is how many items a page holds at most; a greater limit is taken for it.
const MaxPage = 100

// PageQuery is embedded in the input of a listing.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" default:"50" doc:"Items at most; more than 100 is taken for 100"`
	Cursor string `query:"cursor" maxLength:"2048" doc:"nextCursor of the page before; only good with the same filters"`
}

// Size is the limit, no more than MaxPage.
func (q PageQuery) Size() int {
	if q.Limit < 1 {
		return 50
	}
	return min(q.Limit, MaxPage)
}

// After is the position that NewPage was given, "" without a cursor. filters must be what NewPage was given. A cursor
// that was changed, or made for another company, operation or filter, is fault.Invalid.
func (q PageQuery) After(ctx context.Context, filters ...string) (string, error) {
	if q.Cursor == "" {
		return "", nil
	}
	req := requestOf(ctx)
	after, ok := req.server.cursors.open(q.Cursor, req.binding(filters))
	if !ok {
		return "", fault.Refuse([]fault.Problem{{
			Pointer: "#/query/cursor", Detail: "is no cursor of this listing with these filters; leave it out to start again",
		}})
	}
	return after, nil
}

// Page is one page of a listing.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false" doc:"The items of this page"`
	NextCursor string `json:"nextCursor,omitempty" doc:"Where the next page begins; absent on the last"`
}

// PageOutput is the answer of a listing, with the Link header of RFC 8288.
type PageOutput[T any] struct {
	Link string `header:"Link" doc:"rel=\"next\" where there is a next page"`
	Body Page[T]
}

// NewPage answers items; after is the position behind them (a store's Page.Next), "" on the last page, and is sealed
// into the cursor together with the company, the operation and the filters.
func NewPage[T any](ctx context.Context, items []T, after string, filters ...string) *PageOutput[T] {
	out := &PageOutput[T]{Body: Page[T]{Items: items}}
	if items == nil {
		out.Body.Items = []T{}
	}
	if after != "" {
		req := requestOf(ctx)
		out.Body.NextCursor = req.server.cursors.seal(after, req.binding(filters))
		out.Link = req.link(out.Body.NextCursor)
	}
	return out
}

// link names the next page: this request with another cursor.
func (req *request) link(cursor string) string {
	u := *req.url
	q := u.Query()
	q.Set("cursor", cursor)
	return fmt.Sprintf(`<%s%s?%s>; rel="next"`, req.base, u.EscapedPath(), q.Encode())
}

// binding is what a cursor is good for. Lengths keep ("ab","c") and ("a","bc") apart.
func (req *request) binding(filters []string) []byte {
	var b []byte
	for _, part := range append([]string{req.caller.Company, req.operation}, filters...) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// cursors seals positions with AES-256-GCM. A position names a key of the caller's own partition and gives no right:
// sealing keeps keys out of sight and cursors from being made up. The nonce follows from what is sealed (the way of
// RFC 8452), so that the same page has the same cursor.
type cursors struct {
	aead     cipher.AEAD
	nonceKey []byte
}

func newCursors(secret []byte) *cursors {
	block, err := aes.NewCipher(derive(secret, "orgops cursor seal"))
	if err != nil {
		panic(fmt.Sprintf("web: cursor key: %v", err))
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(fmt.Sprintf("web: cursor key: %v", err))
	}
	return &cursors{aead: aead, nonceKey: derive(secret, "orgops cursor nonce")}
}

// derive makes one key for one purpose of the configured secret.
func derive(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		panic(fmt.Sprintf("web: cursor key: %v", err))
	}
	return key
}

func (c *cursors) seal(after string, binding []byte) string {
	mac := hmac.New(sha256.New, c.nonceKey)
	mac.Write(binding)
	mac.Write([]byte(after))
	nonce := mac.Sum(nil)[:c.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, []byte(after), binding))
}

func (c *cursors) open(cursor string, binding []byte) (string, bool) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(sealed) < c.aead.NonceSize() {
		return "", false
	}
	nonce, sealed := sealed[:c.aead.NonceSize()], sealed[c.aead.NonceSize():]
	after, err := c.aead.Open(nil, nonce, sealed, binding)
	return string(after), err == nil
}
