package integrations

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
)

// permissionsField names the member of a configuration request that lists the permissions. It is no part of a connector's
// configuration.
const permissionsField = "permissions"

// documentPermissions adds the title and the permissions to a connector's schema in the document.
func documentPermissions(schema map[string]any) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	properties[titleField] = map[string]any{
		"type": "string", "title": "Shown as", "maxLength": maxTitle,
		"description": "The name that people see in lists, health and the brief. Without this member the title stays. An empty text removes it. A new title needs no new certification.",
	}
	properties[permissionsField] = map[string]any{
		"type": "array", "title": "Permissions", "uniqueItems": true, "items": map[string]any{"type": "string"},
		"description": "The only ports that the integration may use, out of those that the connector asks for. Without it, or if it is empty, a new integration may use " +
			"all of them, and a narrowed one stays as narrow. Another list returns the integration to the sandbox.",
	}
}

// takePermissions splits a configuration request into the connector's part and the permissions, which are nil if the request
// lists none: generated clients send an empty list for a field that their caller has left out. It leaves a request that is not an object to the check of the connector's schema.
func takePermissions(request json.RawMessage) (rest json.RawMessage, asked []integration.Port, err error) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(request, &members) // a request that is not an object has no members
	list, given := members[permissionsField]
	if !given {
		return request, nil, nil
	}
	if json.Unmarshal(list, &asked) != nil || asked == nil { // null is no list
		return nil, nil, fault.Refuse([]fault.FieldError{{Pointer: "/permissions", Detail: "must be a list of ports"}})
	}
	if len(asked) == 0 {
		asked = nil
	}
	delete(members, permissionsField)
	rest, err = json.Marshal(members)
	return rest, asked, err
}

// narrow returns the permissions of an integration whose connector asks for ports: all of them, those that the request lists, or
// those that an earlier request has left. They have the order of ports.
func narrow(ports, asked []integration.Port, old integration.Integration) ([]integration.Port, error) {
	keep := func(allowed []integration.Port) []integration.Port {
		return slices.DeleteFunc(slices.Clone(ports), func(p integration.Port) bool { return !slices.Contains(allowed, p) })
	}
	switch {
	case asked != nil:
		return keep(asked), checkPermissions(ports, asked)
	case old.Narrowed:
		return keep(old.Permissions), nil
	}
	return ports, nil
}

// checkPermissions refuses ports that the connector does not ask for, and ports that are listed twice.
func checkPermissions(ports, asked []integration.Port) error {
	var problems []fault.FieldError
	for n, port := range asked {
		pointer := fmt.Sprintf("/permissions/%d", n)
		if !slices.Contains(ports, port) {
			problems = append(problems, fault.FieldError{Pointer: pointer, Detail: "must be one of the ports that this configuration asks for: " + named(ports)})
		}
		if slices.Contains(asked[:n], port) {
			problems = append(problems, fault.FieldError{Pointer: pointer, Detail: "is listed twice"})
		}
	}
	return fault.Refuse(problems)
}

func named(ports []integration.Port) string {
	names := make([]string, len(ports))
	for n, port := range ports {
		names[n] = string(port)
	}
	return strings.Join(names, ", ")
}
