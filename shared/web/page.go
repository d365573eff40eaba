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

	"orgops/shared/base/fault"
)

// MaxPage limits the items of a page. A higher limit in a request means MaxPage.
const MaxPage = 100

// PageQuery reads the paging parameters. Embed it in the input of a listing.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" default:"50" doc:"Maximum number of items; more than 100 means 100"`
	Cursor string `query:"cursor" maxLength:"2048" doc:"nextCursor of the previous page; valid only with the same filters"`
}

// Size returns the requested limit, at most MaxPage, or 50 without a limit.
func (q PageQuery) Size() int {
	if q.Limit < 1 {
		return 50
	}
	return min(q.Limit, MaxPage)
}

// After returns the position that NewPage sealed in the cursor, or "" without a cursor. filters must be the same as for
// NewPage. It returns fault.Invalid for a cursor that was changed, or made for another company, operation or filter.
func (q PageQuery) After(ctx context.Context, filters ...string) (string, error) {
	if q.Cursor == "" {
		return "", nil
	}
	req := requestOf(ctx)
	after, ok := req.server.cursors.open(q.Cursor, req.binding(filters))
	if !ok {
		return "", fault.Refuse([]fault.FieldError{{
			Pointer: "#/query/cursor", Detail: "is not a cursor of this listing with these filters; leave it out to start again",
		}})
	}
	return after, nil
}

// Page holds one page of a listing.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false" doc:"The items of this page"`
	NextCursor string `json:"nextCursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// PageOutput holds the answer of a listing, with the Link header of RFC 8288.
type PageOutput[T any] struct {
	Link string `header:"Link" doc:"rel=\"next\" if there is a next page"`
	Body Page[T]
}

// IsEmpty reports whether a list has no items, if it is its first page.
func (p Page[T]) IsEmpty() bool { return len(p.Items) == 0 && p.NextCursor == "" }

// NewPage makes a page of items. after is the position behind the items (a store's Page.Next), or "" on the last page.
// NewPage seals it into the cursor, bound to the company, the operation and the filters.
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

// link returns the Link header of the next page: this request's URL with another cursor.
func (req *request) link(cursor string) string {
	u := *req.url
	q := u.Query()
	q.Set("cursor", cursor)
	return fmt.Sprintf(`<%s%s?%s>; rel="next"`, req.base, u.EscapedPath(), q.Encode())
}

// binding encodes the company, operation and filters that a cursor is valid for. The lengths distinguish ("ab","c") from
// ("a","bc").
func (req *request) binding(filters []string) []byte {
	var b []byte
	for _, part := range append([]string{req.caller.Company, req.operation}, filters...) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// cursors seals positions with AES-256-GCM, which hides keys and prevents forged cursors. A position names a key in the
// caller's own partition and grants no rights. The nonce is derived from the sealed content, as in RFC 8452, so that the
// same page has the same cursor.
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

// derive derives the key for one purpose from the configured secret.
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
