package token

// MCPResource identifies a company's MCP endpoint as a protected resource (RFC 8707, RFC 9728): its address. base is the address of the
// service, without a slash at the end. A token for this resource opens the endpoint alone, and the endpoint takes no other token, so that
// no token is passed on.
func MCPResource(base, company string) string { return base + mcpPath(company) }

// MCPMetadata returns the address of the metadata of a company's MCP endpoint (RFC 9728).
func MCPMetadata(base, company string) string {
	return base + "/.well-known/oauth-protected-resource" + mcpPath(company)
}

func mcpPath(company string) string { return "/companies/" + company + "/mcp" }
