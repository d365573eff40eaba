package user

// The scopes a token may carry (RFC 6749 §3.3). Each opens a part of the company's API to the bearer.
const (
	ScopeMissionControlRead = "mission-control:read"
	ScopeIntelligenceRead   = "intelligence:read"
	ScopeIntelligenceWrite  = "intelligence:write"
	ScopeIntegrationsRead   = "integrations:read"
	ScopeIntegrationsWrite  = "integrations:write"
	ScopeMemoryRead         = "memory:read"
	ScopeMemoryWrite        = "memory:write"
	ScopeOperationsRead     = "operations:read"
	ScopeOperationsWrite    = "operations:write"
	ScopeExecutivesRead     = "executives:read"
	ScopeExecutivesWrite    = "executives:write"

	// ScopeExecutivesAct lets an executive ask for its own actions. No role has it.
	ScopeExecutivesAct = "executives:act"
)

// Role says what a user does in the company and decides the scopes of the user's tokens.
type Role string

// The roles.
const (
	Founder     Role = "founder"     // everything
	Member      Role = "member"      // reads everything
	Operator    Role = "operator"    // the operations
	Integration Role = "integration" // its own integration and that integration's memory
)

// Scopes returns the scopes of a role. No other table grants them; an unknown role has no scopes.
func (r Role) Scopes() []string {
	switch r {
	case Founder:
		return []string{
			ScopeMissionControlRead, ScopeIntelligenceRead, ScopeIntelligenceWrite, ScopeIntegrationsRead,
			ScopeIntegrationsWrite, ScopeMemoryRead, ScopeMemoryWrite, ScopeOperationsRead, ScopeOperationsWrite,
			ScopeExecutivesRead, ScopeExecutivesWrite,
		}
	case Member:
		return []string{
			ScopeMissionControlRead, ScopeIntelligenceRead, ScopeIntegrationsRead, ScopeMemoryRead,
			ScopeOperationsRead, ScopeExecutivesRead,
		}
	case Operator:
		return []string{ScopeOperationsRead, ScopeOperationsWrite}
	case Integration:
		return []string{ScopeMemoryRead, ScopeMemoryWrite, ScopeIntegrationsRead, ScopeIntegrationsWrite}
	}
	return nil
}

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return len(r.Scopes()) > 0 }
