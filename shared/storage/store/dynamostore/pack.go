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

// packedFrom sets the least size in bytes of a packed body. DynamoDB charges writes per started KB, and reads per started
// 4 KB.
const packedFrom = 2 << 10

// packer compresses bodies that the feed does not show, such as a company's context, which almost every change rewrites.
// Bodies in the feed stay text for the stream's readers. Gzip takes 50 µs for 10 kB.
type packer struct{ writers sync.Pool } // of *gzip.Writer: each has a megabyte of tables

// pack puts the body of a write into its item: packed if it may be packed and gets smaller, otherwise as text.
func (p *packer) pack(item attributes, op *store.Op, body string) {
	if op.Quiet && len(body) >= packedFrom {
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
