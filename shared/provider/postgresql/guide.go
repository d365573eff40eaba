package postgresql

import _ "embed" // README.md

//go:embed README.md
var guide string

// Guide returns the package's guide in Markdown, which the local run shows. A Lambda does not call it, so it does not link it.
func Guide() string { return guide }
