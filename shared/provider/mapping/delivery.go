package mapping

import (
	"encoding/json"
	"fmt"
	"net/http"

	"orgops/shared/base/fastjson"
	"orgops/shared/provider/connector"
)

// Read returns what expressions read of a verified delivery. It returns fault.Malformed or fault.Invalid for a body that
// cannot be decoded; see Payload.
func Read(conn connector.Inbound, config json.RawMessage, header http.Header, body []byte) (Delivery, error) {
	document, err := conn.Document(header, body)
	if err != nil {
		return Delivery{}, err
	}
	payload, err := Payload(document)
	if err != nil {
		return Delivery{}, err
	}
	d := Delivery{Headers: Headers(header), Payload: payload}
	if len(config) == 0 {
		return d, nil
	}
	if err := fastjson.Unmarshal(config, &d.Config); err != nil {
		return Delivery{}, fmt.Errorf("configuration of %s: %w", conn.Kind(), err)
	}
	return d, nil
}
