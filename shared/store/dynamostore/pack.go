package dynamostore

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/store"
)

// packedFrom is how many bytes a body has at least that is packed: DynamoDB charges a write for each KB begun, and reads
// for each four.
const packedFrom = 2 << 10

// packer packs bodies that the feed does not show, such as a company's context, which is written with almost every change:
// what the feed shows stays text, for whoever reads the stream. Gzip takes 50 µs for 10 kB.
type packer struct{ writers sync.Pool } // of *gzip.Writer: each has a megabyte of tables

// pack puts the body of a write into its item, in the smaller of the two forms.
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
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	}
	defer p.writers.Put(w)
	var packed bytes.Buffer
	w.Reset(&packed)
	_, _ = io.WriteString(w, body) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// unpack is the body that was packed.
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
