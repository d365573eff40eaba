package user

// The scopes a token may carry (RFC 6749 §3.3): what of the company's API its bearer may use.
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
)

// Role is what a user is in the company; it decides the scopes.
type Role string

// The roles.
const (
	Founder     Role = "founder"     // everything
	Member      Role = "member"      // everything, to read
	Operator    Role = "operator"    // the operations
	Integration Role = "integration" // memory, and its own integration
)

// Scopes is the one table of what a role may do. An unknown role may do nothing.
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
		return []string{ScopeMemoryRead, ScopeMemoryWrite, ScopeIntegrationsRead}
	}
	return nil
}

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return len(r.Scopes()) > 0 }
