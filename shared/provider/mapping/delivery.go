package mapping

import (
	"encoding/json"
	"net/http"

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
	return Delivery{Header: header, Payload: payload, Config: config}, nil
}
