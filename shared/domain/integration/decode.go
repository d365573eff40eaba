package integration

import (
	"encoding/json"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// decode reads a stored integration. It never fails: one integration that cannot be read must not stop the company's others.
// It disables such an integration and notes the cause in Damaged.
func decode(item store.Item) Integration {
	var i Integration
	err := item.Decode(&i)
	if err == nil {
		return i
	}
	return salvage(item, err)
}

// salvage returns what is left of an integration. If the permissions are lost, it assumes that of receiving events, so that
// the dispatcher holds them.
func salvage(item store.Item, cause error) Integration {
	provider := strings.TrimPrefix(item.Key, Prefix)
	kind, _, _ := strings.Cut(provider, "-")
	i := Integration{Provider: provider, Kind: kind, State: Sandbox, SandboxedCause: SandboxedByChange, Config: json.RawMessage("{}"), Damaged: cause}
	var members map[string]json.RawMessage
	if json.Unmarshal(item.Body, &members) != nil || json.Unmarshal(members["permissions"], &i.Permissions) != nil {
		i.Permissions = []Port{EventDeliver}
	}
	var config map[string]json.RawMessage
	if json.Unmarshal(members["config"], &config) == nil {
		i.Config = members["config"]
	}
	_ = json.Unmarshal(members["createdAt"], &i.CreatedAt)     // zero if it is lost
	_ = json.Unmarshal(members["incarnation"], &i.Incarnation) // empty if it is lost
	return i
}

// IsDamaged reports whether the stored form cannot be read. Damaged says why.
func (i Integration) IsDamaged() bool { return i.Damaged != nil }

// Newer returns the refusal of what was asked for before the integration was configured: the one of its name then was deleted.
func (i Integration) Newer() error {
	return fault.Newf(fault.Conflict, "%s was deleted and configured again after this was asked for; reject it, or let it expire", i.Provider)
}

// Usable returns an error for an integration whose stored form cannot be read.
func (i Integration) Usable() error {
	if !i.IsDamaged() {
		return nil
	}
	return fault.Wrap(fault.Conflict, "the stored form of integration "+i.Provider+" cannot be read; configure it again, or delete it", i.Damaged)
}
