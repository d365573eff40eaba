package restore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"orgops/shared/domain/client"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/export"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/rehearsal"
	"orgops/shared/web"
)

// counts holds what an export has of that which the API limits, and which integrations it has.
type counts struct {
	integrations, manifests, executives, clients, goals, users, founders int

	known map[string]bool   // the keys of integrations
	kinds map[string]int    // the integrations that a manifest describes, by its kind
	parts map[string]string // by the key of an integration, that of an item which is stored and deleted with it
}

// take counts the item of a line. It refuses an item beyond a limit of the API.
func (n *counts) take(l export.Line) error {
	switch l.Entity {
	case integration.MappingEntity, integration.ReportsEntity:
		_, provider, _ := strings.Cut(l.Key, "#")
		n.parts[integration.Key(provider)] = l.Key
	case integration.Entity:
		return n.integration(l)
	case integration.ManifestEntity:
		n.manifests++
		return cmp.Or(within(n.manifests, integration.MaxManifestsOfEnterprise, "connectors of its own"), checkManifest(l))
	case executive.Entity:
		n.executives++
		return within(n.executives, executive.MaxPerCompany, "executives")
	case client.Entity:
		n.clients++
		return within(n.clients, client.MaxPerCompany, "clients")
	case goal.Entity:
		return n.goal(l)
	case policy.StoredEntity:
		return checkPolicies(l)
	case user.Entity:
		return n.user(l)
	}
	return nil
}

// whole refuses the mapping or the reports of an integration that the export does not have: their bodies do not name it.
func (n *counts) whole() error {
	for _, of := range slices.Sorted(maps.Keys(n.parts)) {
		if !n.known[of] {
			return fmt.Errorf("the key %s is not that of an integration in the export; export the company again", n.parts[of])
		}
	}
	return nil
}

func (n *counts) integration(l export.Line) error {
	var i integration.Integration
	if err := json.Unmarshal(l.Body, &i); err != nil {
		return fmt.Errorf("the integration %s cannot be read", l.Key)
	}
	n.known[l.Key] = true
	n.integrations++
	if i.Manifest != nil {
		n.kinds[i.Kind]++
	}
	return cmp.Or(within(n.integrations, integration.MaxOfEnterprise, "integrations"),
		within(n.kinds[i.Kind], integration.MaxOfManifest, "integrations of the kind "+i.Kind),
		within(len(i.Goals), goal.MaxSourced, "goals that "+i.Provider+" measures"))
}

func (n *counts) goal(l export.Line) error {
	var g goal.Goal
	if err := json.Unmarshal(l.Body, &g); err != nil {
		return fmt.Errorf("the goal %s cannot be read", l.Key)
	}
	if g.IsOwn() && g.State == goal.Open {
		n.goals++
	}
	return within(n.goals, goal.MaxOwn, "open goals of its own")
}

func (n *counts) user(l export.Line) error {
	var u user.User
	if err := json.Unmarshal(l.Body, &u); err != nil {
		return fmt.Errorf("the user %s cannot be read", l.Key)
	}
	if u.Founds() {
		n.founders++
	}
	n.users++
	return within(n.users, maxUsers, "users")
}

func checkPolicies(l export.Line) error {
	var stored policy.Stored
	if err := json.Unmarshal(l.Body, &stored); err != nil {
		return fmt.Errorf("the policies cannot be read")
	}
	size := 0
	for _, s := range stored.Policies {
		size += len(s.Text)
		if err := within(len(s.Text), policy.MaxText, "bytes in the policy "+s.ID); err != nil {
			return err
		}
	}
	if err := within(size, policy.MaxTexts, "bytes in its policies"); err != nil {
		return err
	}
	return within(len(stored.Policies), policy.MaxStatements, "policies")
}

// checkManifest refuses a manifest that put-connector would refuse, and a digest that is not of its content.
func checkManifest(l export.Line) error {
	var stored integration.StoredManifest
	if err := json.Unmarshal(l.Body, &stored); err != nil {
		return fmt.Errorf("the manifest %s cannot be read", l.Key)
	}
	m, err := rehearsal.Read(stored.Manifest, web.CheckBody)
	if err != nil {
		return fmt.Errorf("the manifest %s is not valid: %w", l.Key, err)
	}
	if m.Kind != stored.Kind || connector.Digest(stored.Manifest) != stored.Digest {
		return fmt.Errorf("the kind or the digest of %s is not that of its manifest", l.Key)
	}
	return nil
}

// within refuses a count beyond what the API allows a company.
func within(count, most int, what string) error {
	if count > most {
		return fmt.Errorf("the export has more than %d %s, which a company may not have; remove some from it, where it comes from, and export it again", most, what)
	}
	return nil
}
