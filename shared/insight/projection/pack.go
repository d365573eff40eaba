package projection

import (
	"bytes"
	"encoding/json"

	"orgops/shared/base/fastjson"
	"orgops/shared/domain/integration"
)

// maxUnpacked limits what a stored context may become, in bytes of JSON.
const maxUnpacked = 16 << 20

// packed is the stored form of a context with many integrations.
type packed struct {
	Packed []byte `json:"packed"` // its JSON, compressed with DEFLATE
}

// Encode returns the stored form of a context. It compresses that of a company with more integrations than every plan allows. The others
// stay as they are, so that a release before this one reads them.
func Encode(p Context) (json.RawMessage, error) {
	raw, err := fastjson.Marshal(p)
	if err != nil || len(p.Integrations) <= integration.MaxPerCompany {
		return raw, err
	}
	out, err := deflate(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(packed{out})
}

// isPacked reports whether a stored context is compressed.
func isPacked(body []byte) bool { return bytes.HasPrefix(body, []byte(`{"packed":`)) }

// unpack returns the JSON of a stored context.
func unpack(body []byte) ([]byte, error) {
	if !isPacked(body) {
		return body, nil
	}
	var of packed
	if err := fastjson.Unmarshal(body, &of); err != nil {
		return nil, err
	}
	return inflate(of.Packed)
}
