package dynamostore

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/storage/store"
)

// packedFrom sets the least size in bytes of a packed body. DynamoDB charges writes per started KB, reads per started 4 KB, and
// by the GB stored. A smaller body mostly takes one write unit as text too, with the 200 bytes of the item's other attributes.
const packedFrom = 800

// packer compresses the bodies of items. Gzip takes 50 µs for 10 kB.
type packer struct{ writers sync.Pool } // of *gzip.Writer: each has a megabyte of tables

// pack puts a body into its item: packed if it is large and gets smaller, otherwise as text.
func (p *packer) pack(item attributes, body string) {
	if len(body) >= packedFrom {
		if packed := p.gzip(body); len(packed) < len(body) {
			item[attrPacked] = &types.AttributeValueMemberB{Value: packed}
			return
		}
	}
	item[attrBody] = text(body)
}

func (p *packer) gzip(body string) []byte {
	w, ok := p.writers.Get().(*gzip.Writer)
	if !ok {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // a valid level, so no error
	}
	defer p.writers.Put(w)
	var packed bytes.Buffer
	w.Reset(&packed)
	_, _ = io.WriteString(w, body) // a write to a buffer never fails
	_ = w.Close()
	return packed.Bytes()
}

// unpack decompresses a packed body.
func unpack(packed []byte) (json.RawMessage, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(r, store.MaxBody+1))
	if err == nil && len(body) > store.MaxBody {
		err = fmt.Errorf("more than %d bytes", store.MaxBody)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return body, nil
}
