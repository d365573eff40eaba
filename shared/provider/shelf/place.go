package shelf

import (
	"encoding/json"
	"net/http"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
)

// place says how an arrival tells which part of the provider it is about. A part is known by its id, which it keeps when its name changes.
type place struct {
	Variable string `json:"variable"` // of the configuration, which has the name of a part; absent: every part counts
	ID       string `json:"id"`       // pointers into the document of an arrival
	Name     string `json:"name"`
	Outside  string `json:"outside"` // why an arrival about another part is ignored
}

// Locate implements connector.Placed. Until an arrival has told the id of the configured part, the configured name counts. An arrival that
// names no part concerns every part.
func (c *Connector) Locate(config json.RawMessage, known integration.Place, _ http.Header, payload any) connector.Location {
	p := c.load().Place
	if p == nil {
		return connector.Location{}
	}
	var given map[string]any
	_ = json.Unmarshal(config, &given) // without a configuration, every part counts
	configured, _ := given[p.Variable].(string)
	told := integration.Place{ID: textAt(payload, p.ID), Name: textAt(payload, p.Name)}
	switch named := told.Name == configured; {
	case configured == "", told.Name == "", named && told.ID == "":
		return connector.Location{}
	case told.ID != "" && told.ID == known.ID, named && known.ID == "":
		return connector.Location{Place: told}
	}
	return connector.Location{Outside: p.Outside}
}

// textAt returns the text at a pointer into a decoded document, or "".
func textAt(document any, pointer string) string {
	for _, name := range manifest.Tokens(pointer) {
		object, _ := document.(map[string]any)
		document = object[name]
	}
	text, _ := document.(string)
	return text
}
