package linear

import (
	"encoding/json"
	"net/http"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
)

// anotherTeam is the reason to ignore an arrival that Locate gives.
const anotherTeam = "it is about another team than the configured one"

// Locate implements connector.Placed. A team is known by its id, which it keeps when its key changes. Until an arrival has told
// the id, the configured key counts. An arrival that names no team, such as one about a project, concerns every team.
func (*Connector) Locate(config json.RawMessage, known integration.Place, _ http.Header, payload any) connector.Location {
	var c Config
	_ = json.Unmarshal(config, &c) // without a configuration, every team counts
	arrival, _ := payload.(map[string]any)
	data, _ := arrival["data"].(map[string]any)
	team, _ := data["team"].(map[string]any)
	id, _ := team["id"].(string)
	key, _ := team["key"].(string)
	switch place := (integration.Place{ID: id, Name: key}); {
	case c.Team == "", key == "":
		return connector.Location{}
	case id != "" && id == known.ID, key == c.Team && known.ID == "":
		if id == "" {
			return connector.Location{}
		}
		return connector.Location{Place: place}
	case id == "" && key == c.Team:
		return connector.Location{}
	}
	return connector.Location{Outside: anotherTeam}
}
