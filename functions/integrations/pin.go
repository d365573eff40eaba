package integrations

import (
	"encoding/json"

	"orgops/shared/provider/connector"
)

// pin returns a configuration with the versions of events that the endpoint gets from now on. An endpoint keeps those that it has, unless
// the configuration asks for others.
func (d Deps) pin(config, old json.RawMessage) (json.RawMessage, error) {
	is, was, now := subscriptionOf(config), subscription{}, d.Now()
	if len(old) > 0 {
		was = subscriptionOf(old)
	}
	if err := d.kinds().Check(is.Versions, now); err != nil {
		return nil, err
	}
	pins := d.kinds().Pin(is.Versions, was.Versions, is.Events, was.Events, now)
	if len(pins) == len(is.Versions) {
		return config, nil
	}
	members := map[string]json.RawMessage{}
	err := json.Unmarshal(config, &members)
	if err == nil {
		members["eventVersions"], err = json.Marshal(pins)
	}
	if err != nil {
		return nil, err
	}
	if config, err = json.Marshal(members); err != nil {
		return nil, err
	}
	return connector.Canonical(config)
}
