package mapping

import (
	"encoding/json"
	"net/http"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
)

// Read returns what expressions read of a verified arrival, and whether it concerns an integration of a configuration and a known
// place. It returns fault.Malformed or fault.Invalid for a body that
// cannot be decoded; see Payload.
func Read(conn connector.Inbound, config json.RawMessage, known *integration.Place, header http.Header, body []byte) (Arrival, error) {
	document, err := conn.Document(header, body)
	if err != nil {
		return Arrival{}, err
	}
	payload, err := Payload(document)
	if err != nil {
		return Arrival{}, err
	}
	d := Arrival{Header: header, Payload: payload, Config: config}
	if placed, ok := conn.(connector.Placed); ok {
		if known == nil {
			known = new(integration.Place)
		}
		d.Location = placed.Locate(config, *known, header, payload)
	}
	return d, nil
}
